/** What parsing and validation say about a config, and the places in it as Ignition names them. */
import { type JsonNode, type JsonObject, type Position, positionReader } from "../../base/located-json.js";
import type { Minor } from "./config.js";

export interface ConfigProblem {
  /** Errors make Ignition refuse the config, warnings do not. */
  readonly severity: "error" | "warning";
  readonly path: JsonPath;
  /** Half a sentence about the value at the path. */
  readonly message: string;
}

export interface LocatedProblem extends ConfigProblem {
  /** Absent for configs that were never text. */
  readonly position?: Position;
}

/** A config that is wrong in more places is wrong altogether. */
const MOST_OF_A_KIND = 10_000;

/** A place in a config that is checked against a spec version: problems are reported at it or below it. */
export class ConfigPlace {
  readonly minor: Minor;
  readonly path: JsonPath;
  /** All places of one check share it. */
  readonly #found: { readonly list: ConfigProblem[]; error: number; warning: number };

  constructor(minor: Minor, path: JsonPath = [], above?: ConfigPlace) {
    this.minor = minor;
    this.path = path;
    this.#found = above === undefined ? { list: [], error: 0, warning: 0 } : above.#found;
  }

  /** Of the whole config. */
  get problems(): readonly ConfigProblem[] {
    return this.#found.list;
  }

  at(...below: JsonPath): ConfigPlace {
    return new ConfigPlace(this.minor, [...this.path, ...below], this);
  }

  /** Each entry of the list of that name, with its place and its position. */
  *entries<T>(name: string, list: readonly T[] = []): Generator<[entry: T, place: ConfigPlace, index: number]> {
    for (const [index, entry] of list.entries()) yield [entry, this.at(name, index), index];
  }

  /** Without a message there is no problem. */
  error(message: string | undefined, ...below: JsonPath): void {
    this.#add("error", message, below);
  }

  warning(message: string, ...below: JsonPath): void {
    this.#add("warning", message, below);
  }

  #add(severity: ConfigProblem["severity"], message: string | undefined, below: JsonPath): void {
    if (message === undefined) return;
    this.#found[severity] += 1;
    if (this.#found[severity] <= MOST_OF_A_KIND)
      this.#found.list.push({ severity, path: [...this.path, ...below], message });
  }
}

export const isFatal = (problems: readonly ConfigProblem[]): boolean =>
  problems.some(({ severity }) => severity === "error");

/** With line and column, in the order in which the config is read. */
export function located(problems: readonly ConfigProblem[], text: string, root: JsonNode): LocatedProblem[] {
  const find = finder(root);
  const withOffset = problems.map((problem) => ({ problem, offset: find(problem.path).start }));
  withOffset.sort((a, b) => a.offset - b.offset);
  const positions = positionReader(text);
  return withOffset.map(({ problem, offset }) => ({ ...problem, position: positions(offset) }));
}

/** `error at storage.files.0.path (line 3, column 14): the path is not absolute`. */
export function findingText({ severity, path, position, message }: LocatedProblem): string {
  const place = position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
  return `${severity} at ${pathText(path)}${place}: ${message}`;
}

/** How to get to a value from the top: member names and list positions. */
export type JsonPath = readonly (string | number)[];

/** `storage.files.0.path`, as Ignition's own tools write it, or `the top`. */
export function pathText(path: JsonPath): string {
  return path.length === 0 ? "the top" : path.join(".");
}

/**
 * Finds the value at the end of a path or the last one on the path that exists. Keeps what it learns of each
 * object, so that many questions about a long one cost no more than its length.
 */
function finder(root: JsonNode): (path: JsonPath) => JsonNode {
  const known = new Map<JsonObject, Map<string, JsonNode>>();
  const membersOf = (object: JsonObject): Map<string, JsonNode> => {
    const found = known.get(object) ?? new Map(object.members.map(({ name, value }) => [name.toLowerCase(), value]));
    known.set(object, found);
    return found;
  };
  return (path) => {
    let node = root;
    for (const step of path) {
      let next: JsonNode | undefined;
      if (node.kind === "object") next = membersOf(node).get(String(step).toLowerCase());
      else if (node.kind === "array") next = node.items[Number(step)];
      if (next === undefined) break;
      node = next;
    }
    return node;
  };
}
