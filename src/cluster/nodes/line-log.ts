/** Files of JSON objects, one a line: appended, never changed, and with the operating system when `write` returns. */
import { closeSync, openSync, writeSync } from "node:fs";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { wrapErrors } from "../../base/errors/error.js";

export interface LineLog<T extends object> {
  write(line: T): void;
  close(): void;
}

/** Continues a file that is there. It and its `write` throw the given error when the file cannot be written. */
export function openLineLog<T extends object>(what: string, path: string, code: ErrorCode): LineLog<T> {
  const attempt = <R>(run: () => R): R => wrapErrors(code, `the ${what} ${path} cannot be written`, run);
  const file = attempt(() => openSync(path, "a", 0o600));
  let isTorn = false;
  const append = (line: T) => {
    const bytes = Buffer.from(`${isTorn ? "\n" : ""}${JSON.stringify(line)}\n`);
    // One write a line: the kernel appends it whole, whoever else writes. A full disk takes a part of it.
    const written = writeSync(file, bytes);
    isTorn = written !== bytes.length;
    if (isTorn) throw new Error("the disk is full: only a part of the line was written");
  };
  return { write: (line) => attempt(() => append(line)), close: () => closeSync(file) };
}
