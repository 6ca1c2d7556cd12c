/** Objects as people write them down: in a file, or on standard input. */
import { readFileSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";

/** With what to call it in complaints. `-` is standard input. */
export async function objectsText(file: string): Promise<[name: string, text: string]> {
  try {
    // Descriptor 0 rather than a path: not every system has one for it.
    if (file === "-") return ["standard input", readFileSync(0, "utf8")];
    return [file, await readFile(file, "utf8")];
  } catch (reason) {
    throw new DrawbridgeError("DB_NODEPOOL", `the file cannot be read: ${messageOf(reason)}`, { cause: reason });
  }
}
