/** What parsing and validation say about a config, in one form. */
import { type JsonNode, type Position, positionReader } from "../../base/located-json.js";
import { finder, type JsonPath, pathText } from "./json-path.js";

export interface Problem {
  /** Errors make Ignition refuse the config, warnings do not. */
  readonly severity: "error" | "warning";
  readonly path: JsonPath;
  /** Half a sentence about what stands at the path. */
  readonly message: string;
}

export interface Finding extends Problem {
  /** Absent for configs that were never text. */
  readonly position?: Position;
}

/** A config that is wrong in more places is wrong altogether. */
const MOST_OF_A_KIND = 10_000;

/** Collects problems below one place of a config. */
export class Problems {
  readonly list: Problem[] = [];
  readonly #counts = { error: 0, warning: 0 };

  error(path: JsonPath, message: string | undefined): void {
    if (message !== undefined) this.#add({ severity: "error", path, message });
  }

  warning(path: JsonPath, message: string | undefined): void {
    if (message !== undefined) this.#add({ severity: "warning", path, message });
  }

  #add(problem: Problem): void {
    this.#counts[problem.severity] += 1;
    if (this.#counts[problem.severity] <= MOST_OF_A_KIND) this.list.push(problem);
  }
}

export const isFatal = (problems: readonly Problem[]): boolean => problems.some(({ severity }) => severity === "error");

/** With line and column, in the order in which the config is read. */
export function located(problems: readonly Problem[], text: string, root: JsonNode): Finding[] {
  const find = finder(root);
  const withOffset = problems.map((problem) => ({ problem, offset: find(problem.path).start }));
  withOffset.sort((a, b) => a.offset - b.offset);
  const positions = positionReader(text);
  return withOffset.map(({ problem, offset }) => ({ ...problem, position: positions(offset) }));
}

/** `error at storage.files.0.path (line 3, column 14): the path is not absolute`. */
export function findingText({ severity, path, position, message }: Finding): string {
  const place = position === undefined ? "" : ` (line ${position.line}, column ${position.column})`;
  return `${severity} at ${pathText(path)}${place}: ${message}`;
}
