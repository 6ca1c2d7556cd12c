/** Reads a parsed document field by field; what does not fit becomes a fault, and reading goes on. */

import { isIP } from "node:net";
import { DrawbridgeError } from "../../../base/errors/error.js";

export class DocumentFields {
  readonly #values: Readonly<Record<string, unknown>>;
  /** Empty at the top. */
  readonly where: string;
  readonly #faults: ConfigFaults;
  readonly #known = new Set<string>();

  constructor(document: unknown, where: string, faults: ConfigFaults) {
    const isMapping = typeof document === "object" && document !== null && !Array.isArray(document);
    if (!isMapping && document !== undefined && document !== null)
      faults.add(`${where === "" ? "the document" : where} is not a mapping`, "write one field a line, name: value");
    this.#values = isMapping ? (document as Record<string, unknown>) : {};
    this.where = where;
    this.#faults = faults;
  }

  text(name: string): string | undefined {
    const value = this.#take(name);
    if (value === undefined || value === "") return undefined;
    if (typeof value === "string" || typeof value === "number") return String(value);
    return this.#wrong(name, "text", "quote it if YAML reads it as something else");
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

  /** Texts and mappings, mixed. */
  items(name: string): (string | DocumentFields)[] {
    const value = this.#take(name) ?? [];
    const isItem = (item: unknown) => (typeof item === "string" ? item !== "" : typeof item === "object");
    if (!Array.isArray(value) || !value.every(isItem))
      return this.#wrong(name, "a list of texts and mappings", "write one item a line behind a dash") ?? [];
    return value.map((item: unknown, index) =>
      typeof item === "string" ? item : new DocumentFields(item, `${this.path(name)}[${index}]`, this.#faults),
    );
  }

  /** Undefined when the document has none. */
  group(name: string): DocumentFields | undefined {
    const value = this.#take(name);
    return value === undefined ? undefined : new DocumentFields(value, this.path(name), this.#faults);
  }

  path(name: string): string {
    return this.where === "" ? name : `${this.where}.${name}`;
  }

  /** To be called last: a field that was never read does not exist, and is probably misspelt. */
  refuseOthers(): void {
    for (const name of Object.keys(this.#values)) {
      if (!this.#known.has(name))
        this.#faults.add(`${this.path(name)} does not exist`, `known here: ${[...this.#known].join(", ")}`);
    }
  }

  #take(name: string): unknown {
    this.#known.add(name);
    const value = Object.hasOwn(this.#values, name) ? this.#values[name] : undefined;
    return value === null ? undefined : value;
  }

  #wrong(name: string, wanted: string, remedy: string): undefined {
    this.#faults.add(`${this.path(name)} is not ${wanted}`, remedy);
    return undefined;
  }
}

// All faults of a description are reported at once, so that the file can be corrected in one go.

export class ConfigFaults {
  readonly #sentences: string[] = [];

  /** `what` is wrong; `remedy` says what to do. */
  add(what: string, remedy: string): void {
    this.#sentences.push(`${what} (${remedy})`);
  }

  throwIfAny(source: string): void {
    if (this.#sentences.length === 0) return;
    throw new DrawbridgeError("DB_HOSTED_CONFIG", `${source} cannot be used: ${this.#sentences.join("; ")}.`);
  }
}

// What Kubernetes, TLS and URLs accept as names.

const LABEL = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

export const isLabel = (text: string): boolean => LABEL.test(text);

export const isDnsName = (text: string): boolean =>
  isIP(text) === 0 && text.length <= 253 && text.split(".").every((part) => LABEL.test(part));

export const isIpAddress = (text: string): boolean => isIP(text) !== 0 && !text.includes("%");

export function isPrefix(text: string): boolean {
  const [address = "", bits, ...rest] = text.split("/");
  if (rest.length > 0 || bits === undefined || !/^\d{1,3}$/.test(bits) || !isIpAddress(address)) return false;
  return Number(bits) <= (isIP(address) === 4 ? 32 : 128);
}

export const isPullSpec = (text: string): boolean => /^[\w][\w.:/@-]*$/.test(text);

export function isProxyUrl(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, hostname } = new URL(text);
  return (protocol === "http:" || protocol === "https:") && hostname !== "";
}

/** Of a proxy's URL that was found good. */
export const hasPassword = (url: string): boolean => new URL(url).password !== "";

/** HyperShift's rule for the control plane's namespace. */
export const namespaceFor = (namespace: string, name: string): string => `${namespace}-${name.replaceAll(".", "-")}`;
