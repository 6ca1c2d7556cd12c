/** Reads a parsed document field by field. What does not fit becomes a fault, and all faults are reported at once. */
import { isIP } from "node:net";
import { isRecord } from "../../../base/at.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { parsePrefix } from "../../../tunnel/wire/prefix.js";

/** Which texts a field accepts, what any other text is, and what to do about it. */
type TextRule = readonly [isGood: (text: string) => boolean, otherwise: string, remedy: string];

export class DocumentFields {
  readonly #values: Readonly<Record<string, unknown>>;
  /** The path of this mapping; empty at the top of the document. */
  readonly where: string;
  /** Whether the document has this mapping. */
  readonly isGiven: boolean;
  /** Sentences, shared by all mappings of one document. */
  readonly #faults: string[];
  readonly #known = new Set<string>();
  readonly #inner: DocumentFields[] = [];

  constructor(document: unknown, where = "", faults: string[] = []) {
    this.where = where;
    this.#faults = faults;
    this.isGiven = document !== undefined && document !== null;
    this.#values = isRecord(document) ? document : {};
    if (this.isGiven && !isRecord(document))
      this.fault(`${where === "" ? "the document" : where} is not a mapping`, "write one field a line, name: value");
  }

  fault(what: string, remedy: string): void {
    this.#faults.push(`${what} (${remedy})`);
  }

  text(name: string, rule?: TextRule): string | undefined {
    const value = this.#take(name);
    if (value === undefined || value === "") return undefined;
    if (typeof value !== "string" && typeof value !== "number")
      return this.#wrong(name, "text", "quote it if YAML reads it as something else");
    const text = String(value);
    const [isGood, otherwise, remedy] = rule ?? [];
    if (isGood !== undefined && !isGood(text)) this.fault(`${this.path(name)} "${text}" ${otherwise}`, remedy!);
    return text;
  }

  /** Empty when there is none, which is a fault. */
  required(name: string, isGood: (text: string) => boolean, remedy: string): string {
    const text = this.text(name, [isGood, "cannot be used", remedy]);
    if (text === undefined) this.fault(`${this.path(name)} is missing`, remedy);
    return text ?? "";
  }

  choice<T extends string>(name: string, words: readonly T[]): T | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    const word = words.find((candidate) => candidate === value);
    return word ?? this.#wrong(name, `one of ${words.join(", ")}`, "it is spelt with capitals as shown");
  }

  whole(name: string, least: number, most: number): number | undefined {
    const value = this.#take(name);
    if (value === undefined) return undefined;
    if (typeof value === "number" && Number.isInteger(value) && value >= least && value <= most) return value;
    return this.#wrong(name, `a whole number from ${least} to ${most}`, "give one, without quotes");
  }

  yesNo(name: string): boolean | undefined {
    const value = this.#take(name);
    if (value === undefined || typeof value === "boolean") return value;
    return this.#wrong(name, "true or false", "write it without quotes");
  }

  texts(name: string): string[] {
    const value = this.#take(name) ?? [];
    if (Array.isArray(value) && value.every((item) => typeof item === "string" && item !== "")) return value;
    return this.#wrong(name, "a list of texts", "write [a, b], or one a line behind a dash") ?? [];
  }

  /** A list of texts and mappings, mixed. */
  items(name: string): (string | DocumentFields)[] {
    const value = this.#take(name) ?? [];
    const isItem = (item: unknown) => (typeof item === "string" ? item !== "" : typeof item === "object");
    if (!Array.isArray(value) || !value.every(isItem))
      return this.#wrong(name, "a list of texts and mappings", "write one item a line behind a dash") ?? [];
    return value.map((item: unknown, index) =>
      typeof item === "string" ? item : this.#open(item, `${this.path(name)}[${index}]`),
    );
  }

  /** A mapping inside this one; without fields when the document has none. */
  group(name: string): DocumentFields {
    return this.#open(this.#take(name), this.path(name));
  }

  path(name: string): string {
    return this.where === "" ? name : `${this.where}.${name}`;
  }

  /**
   * Throws DB_HOSTED_CONFIG if there was a fault; `source` begins the sentence. To be called last: a field that was never
   * read does not exist, and is probably misspelt.
   */
  finish(source: string): void {
    this.#refuseOthers();
    if (this.#faults.length === 0) return;
    throw new DrawbridgeError("DB_HOSTED_CONFIG", `${source} cannot be used: ${this.#faults.join("; ")}.`);
  }

  #refuseOthers(): void {
    for (const name of Object.keys(this.#values)) {
      if (!this.#known.has(name))
        this.fault(`${this.path(name)} does not exist`, `known here: ${[...this.#known].join(", ")}`);
    }
    for (const fields of this.#inner) fields.#refuseOthers();
  }

  #open(value: unknown, where: string): DocumentFields {
    const fields = new DocumentFields(value, where, this.#faults);
    this.#inner.push(fields);
    return fields;
  }

  #take(name: string): unknown {
    this.#known.add(name);
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return value === null ? undefined : value;
  }

  #wrong(name: string, wanted: string, remedy: string): undefined {
    this.fault(`${this.path(name)} is not ${wanted}`, remedy);
    return undefined;
  }
}

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

/** Whether Kubernetes accepts the text as the name of a namespace. */
export const isLabel = (text: string): boolean => LABEL.test(text);

export const isDnsName = (text: string): boolean =>
  isIP(text) === 0 && text.length <= 253 && text.split(".").every(isLabel);

export const isIpAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes("%");

export const isPrefix = (text: string): boolean => /^[^%]+\/[^%]+$/.test(text) && parsePrefix(text) !== undefined;

/** Whether the text can be the name of a container image, with its registry, tag or digest. */
export const isPullSpec = (text: string): boolean => /^[\w][\w.:/@-]*$/.test(text);

export function isProxyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && hostname !== "";
}
