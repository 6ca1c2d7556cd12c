/** An Ignition config as it goes out: made ready once, not for each of a thousand machines. */
import { createHash } from "node:crypto";
import { gzipSync } from "node:zlib";

export interface Payload {
  readonly body: Buffer;
  readonly compressed: Buffer;
  readonly etag: string;
  /** False: it is not an Ignition config, and no machine gets it. */
  readonly usable: boolean;
}

export function makePayload(text: string): Payload {
  const body = Buffer.from(text);
  return {
    body,
    compressed: gzipSync(body),
    etag: `"${createHash("sha256").update(body).digest("hex").slice(0, 32)}"`,
    usable: isConfig(text),
  };
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
