import { fstatSync, write } from "node:fs";
import type { WriteBytes } from "./log-sink.js";

const STDERR = 2;

/** Writes to standard error without ever keeping this thread waiting, whatever it is connected to. */
export function stderrWriter(): WriteBytes {
  const kind = fstatSync(STDERR);
  return kind.isFIFO() || kind.isSocket() ? writeToStream : writeFromPool;
}

/** Pipes and sockets: Node's own stream does not wait for their readers. */
const writeToStream: WriteBytes = (bytes, done) => {
  if (process.stderr.listenerCount("error") === 0) {
    // A log reader that went away must not end the process.
    process.stderr.on("error", () => {});
  }
  process.stderr.write(bytes, done);
};

/** Files and terminals: there the stream would wait, so the thread pool does. */
const writeFromPool: WriteBytes = (bytes, done) => {
  write(STDERR, bytes, (error, written) => {
    if (error !== null || written >= bytes.length) done(error);
    else writeFromPool(bytes.subarray(written), done);
  });
};
