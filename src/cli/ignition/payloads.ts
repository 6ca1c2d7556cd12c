/** Payloads as commands are given them: files, or hashes of a pool. */
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { string } from "../flags/flag-value.js";
import { refused } from "../framework/plain-command.js";
import { type AccessFlags, checkAccess, declareAccess, withObjects } from "../nodepool/flags.js";
import { nameOf, readConfigFile } from "./files.js";

/** For --help. */
export const PAYLOAD_HELP = `With --pool the eight digits of a hash stand for the payload that the pool has, or had until lately, under that hash, and
the word current for the one in force. It is taken from the token Secrets of --namespace; those of pools that are not
upgraded in place do not hold it, so it is made anew by --payload.`;

export interface PayloadFlags extends AccessFlags {
  readonly pool: Flag<string>;
  readonly payload: Flag<string>;
}

export function declarePayloads(set: FlagSet): PayloadFlags {
  const text = (name: string, usage: string) => set.add(name, string, "", usage);
  return {
    ...declareAccess(set),
    pool: text("pool", "Pool whose payloads are named by their hash. If empty, all words are files."),
    payload: text("payload", "File that says how payloads are made, as ignition serve has it."),
  };
}

export interface NamedPayload {
  readonly name: string;
  readonly text: Buffer;
}

/** Throws DB_IGNITION_CONFIG for files, DB_PAYLOAD_HASH for hashes. */
export async function readPayload(word: string, flags: PayloadFlags): Promise<NamedPayload> {
  const pool = flags.pool.value;
  if (pool === "") {
    const stray = [flags.payload, flags.directory, flags.kubeconfig].find(({ changed }) => changed);
    if (stray !== undefined) throw refused(`--${stray.name} needs --pool: of which pool?`);
  }
  if (pool === "" || !/^([0-9a-f]{8}|current)$/.test(word)) {
    return { name: nameOf(word), text: await readConfigFile(word) };
  }
  checkAccess(flags);
  const [{ payloadOfHash }, { payloadSource }] = await Promise.all([
    import("../../cluster/nodes/serving/payload.js"),
    import("../../cluster/nodes/serving/payload.js"),
  ]);
  const namespace = flags.namespace.value;
  const text = await withObjects(flags, (api) => {
    const source = flags.payload.value === "" ? undefined : payloadSource(api, namespace, flags.payload.value);
    return payloadOfHash(word, { api, namespace, pool, source });
  });
  return { name: `${pool} ${word}`, text: Buffer.from(text) };
}
