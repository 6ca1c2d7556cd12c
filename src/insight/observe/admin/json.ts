/** Strangers' text in the API's JSON. */
import { redact } from "../../../base/redact/redact.js";

/** A header of a peer may have tens of kilobytes; nobody reads them, and every reader of the stream would get them. */
const MAX_SHOWN_CHARS = 512;

/** Text that a stranger chose, as it may be shown: without secrets, and not endless. */
export function shown(text: string): string {
  const clean = redact(text);
  return clean.length > MAX_SHOWN_CHARS ? `${clean.slice(0, MAX_SHOWN_CHARS)}…` : clean;
}
