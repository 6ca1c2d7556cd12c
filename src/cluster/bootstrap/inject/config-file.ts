/** Reading a bootstrap.ign, and replacing it so that no failure leaves less than there was. */
import { open } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { rewriteFile } from "../../../base/files.js";
import { utf8Text } from "../../../base/text.js";

/** Real ones have about 2 MB. */
const LARGEST_FILE = 32 * 1024 * 1024;
const GZIP = Buffer.from([0x1f, 0x8b]);

/** Throws DB_IGNITION_FILE. */
export async function readBootstrapIgn(path: string): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readBounded(path);
  } catch (error) {
    if (error instanceof DrawbridgeError) throw error;
    throw unreadable(`${path} cannot be read: ${messageOf(error)}`);
  }
  if (bytes.subarray(0, 2).equals(GZIP)) throw unreadable(`${path} is compressed; unpack it with gunzip first`);
  if (bytes.length === 0) throw unreadable(`${path} is empty`);
  const text = utf8Text(bytes);
  if (text === undefined) throw unreadable(`${path} is not UTF-8 text`);
  return text;
}

async function readBounded(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const status = await file.stat();
    if (!status.isFile()) throw unreadable(`${path} is not a regular file`);
    if (status.size > LARGEST_FILE)
      throw unreadable(`${path} has ${megabytes(status.size)} MB, and no installer writes more than a few`);
    return await file.readFile();
  } finally {
    await file.close();
  }
}

const megabytes = (bytes: number): number => Math.round(bytes / 1_000_000);

/** The file keeps its mode and owner (the installer writes 0640); a new one is readable by its owner alone. Throws DB_IGNITION_WRITE. */
export async function replaceConfigFile(path: string, text: string): Promise<void> {
  try {
    await rewriteFile(path, text, 0o600);
  } catch (error) {
    throw new DrawbridgeError("DB_IGNITION_WRITE", `${path} cannot be written: ${messageOf(error)}`, { cause: error });
  }
}

const unreadable = (message: string) => new DrawbridgeError("DB_IGNITION_FILE", message);
