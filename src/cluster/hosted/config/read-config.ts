import { readFile } from "node:fs/promises";
import { dirname } from "node:path";
import { parse } from "yaml";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { checkConfig } from "./check-config.js";
import type { HostedConfig } from "./config.js";

/** What stands on the command line; wins over the file. */
export type Overrides = Readonly<Record<string, unknown>>;

/** YAML or JSON. Without a file, the overrides alone must do. */
export async function readConfig(file: string, overrides: Overrides): Promise<HostedConfig> {
  const document = file === "" ? {} : await readDocument(file);
  const source = file === "" ? "The command line" : file;
  return checkConfig(merged(document, overrides), source, dirname(file));
}

async function readDocument(file: string): Promise<unknown> {
  try {
    return parse(await readFile(file, "utf8")) as unknown;
  } catch (reason) {
    // The parser quotes the line at fault, which may hold a proxy's password.
    const why = messageOf(reason).split("\n")[0];
    throw new DrawbridgeError("DB_HOSTED_CONFIG", `${file} cannot be read: ${why}`, { cause: reason });
  }
}

function merged(document: unknown, overrides: Overrides): unknown {
  if (Object.keys(overrides).length === 0 || typeof document !== "object" || document === null) {
    return Object.keys(overrides).length === 0 ? document : { ...overrides };
  }
  const result: Record<string, unknown> = { ...document };
  for (const [name, value] of Object.entries(overrides)) {
    const before = result[name];
    const isGroup = (part: unknown) => typeof part === "object" && part !== null && !Array.isArray(part);
    result[name] = isGroup(value) && isGroup(before) ? { ...(before as object), ...(value as object) } : value;
  }
  return result;
}
