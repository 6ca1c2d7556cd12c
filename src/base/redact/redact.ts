/**
 * The one redaction of drawbridge: takes secrets out of text, whatever it is. What has a structure is judged by it, what
 * shows by its form or its name that it is a secret goes, and so does what looks drawn at random and is nothing known.
 */
import { withoutSecretValues } from "./assignments.js";
import { withoutEncodedSecrets } from "./encoded.js";
import { isPasswordName, isPlainValue, isSecretName, REMOVED } from "./names.js";
import { withoutKeys, withoutShapes } from "./shapes.js";
import { withStandIns } from "./stand-ins.js";
import { withoutJsonSecrets, withoutObjects } from "./structure.js";

/** Redacts a whole text by its structure; undefined when it has not that structure. */
export type StructurePass = (text: string, inner: (text: string) => string) => string | undefined;

/** A kubeconfig in a data URL in an Ignition config in a Secret in YAML is four deep. */
const DEEPEST = 7;
/** Characters of all texts that were found in one text, together. */
const MOST_INNER_CHARS = 64 * 1024 * 1024;
/** Nothing shorter holds a name and a value, or is random enough. */
const SHORTEST = 6;

/** Every secret has one of these in it: a name, a sign that something was encoded, or a long word. */
const MAY_HOLD =
  /pass|pwd|pw\b|secret|token|cred|user|login|key|auth|cookie|bearer|basic|jwt|psk|otp|sig|mnemonic|sas|sess|[\w+/-]{14}|[@%$]|-[paPwuU]|:\d\d+:|\{S/i;

/**
 * One text that a program or a peer wrote, for logs and answers, without its secrets. `byStructure` are further structures
 * that a whole text may have.
 */
export function redact(text: string, byStructure: readonly StructurePass[] = []): string {
  let innerChars = 0;
  const redacted = (outer: string, depth: number): string => {
    if (outer.length < SHORTEST || !MAY_HOLD.test(outer)) return outer;
    // Undefined when it lies too deep, or there is too much of it: then nobody can say what it is.
    const judge = (within: string): string | undefined => {
      innerChars += within.length;
      return depth >= DEEPEST || innerChars > MOST_INNER_CHARS ? undefined : redacted(within, depth + 1);
    };
    const inner = (within: string): string => judge(within) ?? REMOVED;
    const { text: standing, restored } = withStandIns(outer);
    const keyless = withoutKeys(standing);
    let clean: string | undefined;
    for (const pass of [wholeJson, ...byStructure, withoutObjects]) clean ??= pass(keyless, inner);
    return restored(withoutEncodedSecrets(withoutShapes(withoutSecretValues(clean!)), judge));
  };
  return redacted(text, 0);
}

const wholeJson: StructurePass = (text, inner) => (/^\s*[{[]/.test(text) ? withoutJsonSecrets(text, inner) : undefined);

/** A field of a log line or an answer. */
export function redactField(name: string, value: string): string {
  const isSecret = /^key(?:pem)?$/i.test(name) || (isSecretName(name) && !isPlainValue(value, isPasswordName(name)));
  return isSecret ? REMOVED : redact(value);
}

/** A header of a peer may have tens of kilobytes; nobody reads them, and every reader of the stream would get them. */
const MAX_SHOWN_CHARS = 512;

/** Text that a stranger chose, as it may be shown: without secrets, and not endless. */
export function shown(text: string): string {
  const clean = redact(text);
  return clean.length > MAX_SHOWN_CHARS ? `${clean.slice(0, MAX_SHOWN_CHARS)}…` : clean;
}
