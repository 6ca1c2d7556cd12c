/**
 * The chosen address, kept beside the certificates that were made for it. Routes can change between two runs while
 * certificates and agents stay as they are; then the second run must not go on with another address.
 */
import { mkdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { replaceFile } from "../../../base/files.js";
import { familyOf, sameAddress } from "./ip.js";

export const ADDRESS_RECORD = "bridge-address.json";

export interface AddressRecord {
  readonly target: string;
  readonly sans: readonly string[];
  readonly source: string;
}

/** Undefined when there is none yet. */
export async function readAddressRecord(dir: string): Promise<AddressRecord | undefined> {
  const path = join(dir, ADDRESS_RECORD);
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw unreadable(path, messageOf(reason), reason);
  }
  const record = asRecord(text);
  if (record === undefined) throw unreadable(path, "it is not a record that drawbridge wrote");
  return record;
}

/** The first that can be used: `up` keeps it beside its configuration, others beside their certificates. */
export async function findAddressRecord(dirs: readonly string[]): Promise<AddressRecord | undefined> {
  for (const dir of dirs) {
    // A damaged one is ignored here; commands that depend on it read it themselves, and refuse it.
    const record = await readAddressRecord(dir).catch(() => undefined);
    if (record !== undefined) return record;
  }
  return undefined;
}

/**
 * Keeps the address at the first run and compares at every later one. Throws DB_ADDRESS_CHANGED when agents were given
 * another address. More or fewer other addresses are no change: agents dial only the target.
 */
export async function keepAddress(dir: string, choice: AddressRecord): Promise<"kept" | "same"> {
  const earlier = await readAddressRecord(dir);
  if (earlier === undefined) {
    await write(dir, choice);
    return "kept";
  }
  if (sameAddress(earlier.target, choice.target)) return "same";
  const message =
    `The certificates in ${dir} and the agents were made for ${earlier.target}, ` +
    `but the address of this host is now ${choice.target} (from ${choice.source}).`;
  throw new DrawbridgeError("DB_ADDRESS_CHANGED", message);
}

async function write(dir: string, { target, sans, source }: AddressRecord): Promise<void> {
  const path = join(dir, ADDRESS_RECORD);
  try {
    await mkdir(dir, { recursive: true, mode: 0o700 });
    await replaceFile(path, `${JSON.stringify({ target, sans, source }, undefined, 2)}\n`, 0o600);
  } catch (reason) {
    throw new DrawbridgeError("DB_ADDRESS_RECORD", `${path} cannot be written: ${messageOf(reason)}`, {
      cause: reason,
    });
  }
}

function asRecord(text: string): AddressRecord | undefined {
  try {
    const { target, sans, source } = JSON.parse(text) as Partial<Record<keyof AddressRecord, unknown>>;
    const isAddress = (value: unknown): value is string => typeof value === "string" && familyOf(value) !== undefined;
    if (!isAddress(target) || !Array.isArray(sans) || !sans.every(isAddress)) return undefined;
    return { target, sans, source: String(source) };
  } catch {
    return undefined;
  }
}

function unreadable(path: string, why: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_ADDRESS_RECORD", `${path} cannot be used: ${why}`, { cause });
}
