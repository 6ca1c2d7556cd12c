/**
 * The one redaction of drawbridge: takes secrets out of text, whatever it is. What has a structure is judged by it, what
 * shows by its form or its name that it is a secret goes, and so does what looks drawn at random and is nothing known.
 */
import { withoutSecretValues } from "./assignments.js";
import { withoutEncodedSecrets } from "./encoded.js";
import { isPasswordName, isPlainValue, isSecretName, REMOVED } from "./names.js";
import { withoutKeys, withoutShapes } from "./shapes.js";
import { withoutJsonSecrets, withoutObjects } from "./structure.js";

/** Redacts a whole text by its structure; undefined when it has not that structure. */
export type StructurePass = (text: string, inner: (text: string) => string) => string | undefined;

/** A kubeconfig in a data URL in an Ignition config in a Secret in YAML is four deep. */
const DEEPEST = 7;
/** Of all texts that were found in one, together. */
const MOST_INNER_CHARS = 64 * 1024 * 1024;
/** Nothing shorter holds a name and a value, or is random enough. */
const SHORTEST = 6;

/** Every secret has one of these in it: a name, a sign that something was encoded, or a long word. */
const MAY_HOLD =
  /pass|pwd|pw\b|secret|token|cred|user|login|key|auth|cookie|bearer|basic|jwt|psk|otp|sig|mnemonic|sas|sess|[\w+/-]{14}|[@%$]|-[paPwuU]|:\d\d+:|\{S/i;

export class Redactor {
  readonly #structures: readonly StructurePass[];
  #innerChars = 0;

  constructor(structures: readonly StructurePass[] = []) {
    this.#structures = structures;
  }

  redact(text: string): string {
    return this.#clean(text, 0);
  }

  #clean(text: string, depth: number): string {
    if (text.length < SHORTEST || !MAY_HOLD.test(text)) return text;
    const inner = (within: string): string => this.#inner(within, depth) ?? REMOVED;
    let clean = withoutKeys(text);
    clean = this.#byStructure(clean, inner) ?? withoutObjects(clean, inner);
    clean = withoutSecretValues(clean);
    clean = withoutShapes(clean);
    return withoutEncodedSecrets(clean, (within) => this.#inner(within, depth));
  }

  #byStructure(text: string, inner: (text: string) => string): string | undefined {
    for (const pass of [wholeJson, ...this.#structures]) {
      const clean = pass(text, inner);
      if (clean !== undefined) return clean;
    }
    return undefined;
  }

  /** Undefined when it lies too deep, or there is too much of it: then nobody can say what it is. */
  #inner(text: string, depth: number): string | undefined {
    this.#innerChars += text.length;
    if (depth >= DEEPEST || this.#innerChars > MOST_INNER_CHARS) return undefined;
    return this.#clean(text, depth + 1);
  }
}

const wholeJson: StructurePass = (text, inner) => (/^\s*[{[]/.test(text) ? withoutJsonSecrets(text, inner) : undefined);

/** A field of a log line or an answer. */
export function redactField(name: string, value: string): string {
  const isSecret = /^key(?:pem)?$/i.test(name) || (isSecretName(name) && !isPlainValue(value, isPasswordName(name)));
  return isSecret ? REMOVED : redact(value);
}

/** For logs and answers: one text that a program or a peer wrote. */
export function redact(text: string): string {
  return new Redactor().redact(text);
}

/** A header of a peer may have tens of kilobytes; nobody reads them, and every reader of the stream would get them. */
const MAX_SHOWN_CHARS = 512;

/** Text that a stranger chose, as it may be shown: without secrets, and not endless. */
export function shown(text: string): string {
  const clean = redact(text);
  return clean.length > MAX_SHOWN_CHARS ? `${clean.slice(0, MAX_SHOWN_CHARS)}…` : clean;
}
