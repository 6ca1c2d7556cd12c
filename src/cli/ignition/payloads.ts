/** Payloads as commands are given them: files, or hashes of a pool. */
import { payloadOfHash, payloadSource } from "../../cluster/nodes/serving/payload.js";
import { text, type Values } from "../flags/flag.js";
import { refused } from "../flags/parse.js";
import type { Input } from "../framework/define.js";
import { inputName, readInput } from "../framework/files.js";
import { accessFlags, withObjects } from "../framework/objects.js";

/** How payloads are named, for --help. */
export const PAYLOAD_HELP = `With --pool the eight digits of a hash stand for the payload that the pool has, or had until lately, under that hash, and
the word current for the one in force. It is taken from the token Secrets of --namespace; those of pools that are not
upgraded in place do not hold it, so --payload makes it again.`;

export const payloadFlags = {
  ...accessFlags,
  pool: text("Pool whose payloads are named by their hash. If empty, all words are files."),
  payload: text("File that says how payloads are made, as drawbridge ignition serve takes it."),
};

export interface NamedPayload {
  readonly name: string;
  readonly text: Buffer;
}

/** An Ignition config from a file or standard input. Throws DB_IGNITION_CONFIG. */
export const readConfigInput = (file: string): Promise<Buffer> => readInput(file, "DB_IGNITION_CONFIG");

/** Throws DB_IGNITION_CONFIG for files, DB_PAYLOAD_HASH for hashes. */
export async function readPayload(
  word: string,
  flags: Values<typeof payloadFlags>,
  { given }: Input,
): Promise<NamedPayload> {
  const { namespace, payload, pool } = flags;
  if (pool === "") {
    const stray = ["payload", "directory", "kubeconfig"].find((name) => given.has(name));
    if (stray !== undefined) throw refused(`--${stray} needs --pool: of which pool?`);
  }
  if (pool === "" || !/^([0-9a-f]{8}|current)$/.test(word)) {
    return { name: inputName(word), text: await readConfigInput(word) };
  }
  const content = await withObjects(flags, (api) => {
    const source = payload === "" ? undefined : payloadSource(api, namespace, payload);
    return payloadOfHash(word, { api, namespace, pool, source });
  });
  return { name: `${pool} ${word}`, text: Buffer.from(content) };
}
