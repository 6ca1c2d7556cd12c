/** The installer's state file: every asset it made, by its Go type. */
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { messageOf } from "../../../base/errors/error.js";
import { missing } from "./missing.js";

const KEY_PAIR = "*tls.BootstrapSSHKeyPair";
/** A real one is a few megabytes. */
const LARGEST = 256 * 1024 * 1024;

/** The generated private key; what else stands in the file goes nowhere. */
export async function bootstrapKey(dir: string): Promise<string> {
  const file = join(dir, ".openshift_install_state.json");
  const pair = (await readState(file))[KEY_PAIR] as { readonly Priv?: unknown } | undefined;
  const key = typeof pair?.Priv === "string" ? Buffer.from(pair.Priv, "base64").toString("utf8") : "";
  if (/^-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(key.trimStart())) return key;
  throw missing(`${file} holds no SSH key for the bootstrap host (${KEY_PAIR})`);
}

async function readState(file: string): Promise<Readonly<Record<string, unknown>>> {
  try {
    const { size } = await stat(file);
    if (size > LARGEST) throw new Error("it is too large");
    const state: unknown = JSON.parse(await readFile(file, "utf8"));
    if (typeof state === "object" && state !== null) return state as Record<string, unknown>;
  } catch (reason) {
    // A parser's message may quote what stands in the file, and keys stand in it.
    const why = reason instanceof SyntaxError ? "it is not JSON" : messageOf(reason);
    throw missing(`${file} cannot be read: ${why}`);
  }
  throw missing(`${file} cannot be read: it is not JSON`);
}
