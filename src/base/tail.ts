/** The end of a log says why; its beginning is seldom missed. */
import { open } from "node:fs/promises";

export interface Tail {
  readonly content: Buffer;
  /** Whether something before it was left behind. */
  readonly isCut: boolean;
}

/** At most `most` bytes of a plain file, from the start of a line on. */
export async function tailOf(path: string, most: number): Promise<Tail> {
  const file = await open(path, "r");
  try {
    const status = await file.stat();
    if (!status.isFile()) throw new Error(`${path} is not a plain file`);
    const start = Math.max(0, status.size - most);
    const buffer = Buffer.alloc(Math.min(status.size, most));
    const { bytesRead } = await file.read(buffer, 0, buffer.length, start);
    const read = buffer.subarray(0, bytesRead);
    return start === 0 ? { content: read, isCut: false } : { content: fromWholeLine(read), isCut: true };
  } finally {
    await file.close();
  }
}

const KEY_END = /-----END [A-Z0-9 ]*PRIVATE KEY-----/;
const KEY_BEGIN = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/;

/** A key that the cut went through has lost the line by which it is known, so all before its end goes. */
function fromWholeLine(content: Buffer): Buffer {
  const line = content.indexOf(10);
  const whole = line === -1 ? Buffer.alloc(0) : content.subarray(line + 1);
  // One character a byte, so that places in the text are places in the file.
  const text = content.toString("latin1");
  const end = KEY_END.exec(text);
  const begin = KEY_BEGIN.exec(text);
  if (end === null || (begin !== null && begin.index < end.index)) return whole;
  return content.subarray(Math.max(line + 1, end.index + end[0].length));
}
