/** An Ignition config as it goes out: made ready once, not for each of a thousand machines. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

export interface Payload {
  /** Behind each other; most of them are shared by many machines. */
  readonly pieces: readonly Buffer[];
  readonly length: number;
  /** Made when the first machine asks for it: Ignition itself never does. */
  readonly compressed: Buffer;
  readonly etag: string;
  /** False: it is not an Ignition config, and no machine gets it. */
  readonly usable: boolean;
}

export function makePayload(text: string): Payload {
  const body = Buffer.from(text);
  return payloadOf([body], digestOf(body), isConfig(text));
}

/** A payload that differs from machine to machine in one place; making one more costs next to nothing. */
export function payloadTemplate(before: string, after: string): (between: string) => Payload {
  const [head, tail] = [Buffer.from(before), Buffer.from(after)];
  const digest = digestOf(head, tail);
  const usable = isConfig(before + after);
  return (between) => {
    const own = Buffer.from(between);
    return payloadOf([head, own, tail], digestOf(Buffer.from(digest), own), usable);
  };
}

function payloadOf(pieces: readonly Buffer[], digest: string, usable: boolean): Payload {
  let compressed: Buffer | undefined;
  return {
    pieces,
    length: pieces.reduce((sum, { length }) => sum + length, 0),
    get compressed() {
      compressed ??= gzipSync(Buffer.concat(pieces));
      return compressed;
    },
    etag: `"${digest.slice(0, 32)}"`,
    usable,
  };
}

function digestOf(...pieces: readonly Buffer[]): string {
  const hash = createHash("sha256");
  for (const piece of pieces) hash.update(piece);
  return hash.digest("hex");
}

/** What the original looks at before it hands a payload out; whether it is a *good* config was judged when it was made. */
function isConfig(text: string): boolean {
  try {
    const { ignition } = JSON.parse(text) as { ignition?: { version?: unknown } };
    return typeof ignition?.version === "string";
  } catch {
    return false;
  }
}
