import { createHash } from "node:crypto";
import { listen, type Target } from "./listener.js";

/** What a caller says to a source. A source that spoke first would meet upstream's race of banner and 200 line. */
export const GO = "go\n";

/** Asked with `GO`, sends all of `bytes`, then ends its writing side. */
export function startSource(bytes: Buffer): Promise<Target> {
  return listen((socket) => {
    socket.once("data", () => socket.end(bytes));
  });
}

/** Asked with `GO`, sends until its peer goes away, at the speed its peer reads. */
export function startEndlessSource(chunk: Buffer = Buffer.alloc(64 * 1024, "drawbridge ")): Promise<Target> {
  return listen((socket) => {
    const push = () => {
      while (!socket.destroyed && socket.write(chunk));
    };
    socket.on("drain", push);
    socket.once("data", push);
  });
}

const LENGTH_PREFIX = 8;

/** What a caller sends to a sink: the length first, because upstream's tunnels cannot carry an end of input. */
export function forSink(bytes: Buffer): Buffer {
  const prefix = Buffer.alloc(LENGTH_PREFIX);
  prefix.writeBigUInt64BE(BigInt(bytes.length));
  return Buffer.concat([prefix, bytes]);
}

/** Reads a length and as many bytes, then answers with one line: their SHA-256 in hex. */
export function startSink(): Promise<Target> {
  return listen((socket) => {
    const hash = createHash("sha256");
    let head = Buffer.alloc(0);
    let missing: number | undefined;
    socket.on("data", (chunk: Buffer) => {
      let rest = chunk;
      if (missing === undefined) {
        head = Buffer.concat([head, chunk]);
        if (head.length < LENGTH_PREFIX) return;
        missing = Number(head.readBigUInt64BE());
        rest = head.subarray(LENGTH_PREFIX);
      }
      hash.update(rest);
      missing -= rest.length;
      if (missing === 0) socket.write(`${hash.digest("hex")}\n`);
      else if (missing < 0) socket.destroy();
    });
    socket.once("end", () => socket.end());
  });
}
