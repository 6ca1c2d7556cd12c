/** Where a bundle says what a finding claims. */
import { redact } from "../../../base/redact/redact.js";

export interface Evidence {
  /** Inside the bundle. */
  readonly file: string;
  readonly line?: number;
  /** What stands there, shortened, without anything secret. */
  readonly text: string;
}

const LONGEST_TEXT = 320;

export function evidence(file: string, text: string, line?: number): Evidence {
  const plain = oneLine(redact(text));
  const shown = plain.length <= LONGEST_TEXT ? plain : `${plain.slice(0, LONGEST_TEXT)}...`;
  return { file, ...(line === undefined ? {} : { line }), text: shown };
}

/** Logs of others go to a terminal here: no colours, no forged lines. */
function oneLine(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  return text.trim().replace(/[\u0000-\u001f\u007f-\u009f\u2028\u2029]+/g, " ");
}

/** Something that was seen, perhaps many times: the first and the last are enough to find the rest. */
export class Sighting {
  count = 0;
  first: Evidence | undefined;
  last: Evidence | undefined;

  add(seen: Evidence): void {
    this.count++;
    this.first ??= seen;
    this.last = seen;
  }

  get evidence(): Evidence[] {
    if (this.first === undefined) return [];
    return this.last === this.first || this.last === undefined ? [this.first] : [this.first, this.last];
  }
}
