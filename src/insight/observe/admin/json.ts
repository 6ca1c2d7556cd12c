/** The API's JSON, harmless wherever it is shown. */
import { redact } from "../../../base/redact/redact.js";

/** Markup, the control characters JSON leaves alone (a terminal obeys some), line separators, and what turns text around. */
const TAKEN_FOR_MORE = /[<\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff]/g;

/** Readers get the very same strings; only whoever prints the JSON itself sees escapes. */
export function safeJson(value: object, indent = 0): string {
  return JSON.stringify(value, null, indent).replace(TAKEN_FOR_MORE, (character) => {
    return `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}

/** A header of a peer may have tens of kilobytes; nobody reads them, and every reader of the stream would get them. */
const MAX_SHOWN_CHARS = 512;

/** Text that a stranger chose, as it may be shown: without secrets, and not endless. */
export function shown(text: string): string {
  const clean = redact(text);
  return clean.length > MAX_SHOWN_CHARS ? `${clean.slice(0, MAX_SHOWN_CHARS)}…` : clean;
}
