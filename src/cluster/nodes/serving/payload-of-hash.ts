/** A pool's payload by its hash, without asking the Ignition server, which would take the question for a machine. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import type { KubeApi } from "../../kube/port.js";
import { tokenSecretName } from "../names.js";
import { type Secret, secretText } from "../objects.js";
import { unpack } from "../token/config-text.js";
import { isTokenSecret, readTokenSecret } from "../token/token-secret.js";
import type { PayloadSource } from "./token-controller.js";

/** Instead of a hash: the one in force. */
export const CURRENT_WORD = "current";

export interface PoolPayloadOptions {
  readonly api: KubeApi;
  /** Of the token Secrets. */
  readonly namespace: string;
  readonly pool: string;
  /** Makes what a Secret does not hold: those of pools that replace their machines. */
  readonly source: PayloadSource | undefined;
}

export async function payloadOfHash(
  hash: string,
  { api, namespace, pool, source }: PoolPayloadOptions,
): Promise<string> {
  const { items } = await api.list<Secret>(`/api/v1/namespaces/${encodeURIComponent(namespace)}/secrets`);
  const own = items.filter((secret) => isTokenSecret(secret) && readTokenSecret(secret).pool?.name === pool);
  const secret = hash === CURRENT_WORD ? newest(own) : own.find(isNamed(tokenSecretName(pool, hash)));
  if (secret === undefined) {
    const hashes = own.map(({ metadata }) => metadata?.name?.slice(tokenSecretName(pool, "").length)).sort();
    throw unknown(`pool ${pool} has no token Secret for ${hash} in the namespace ${namespace}; ${listed(hashes)}`);
  }
  const packed = secretText(secret, "payload");
  if (packed !== undefined) return unpack(packed);
  if (source !== undefined) return (await source(readTokenSecret(secret))).text;
  throw unknown(
    `the Secret ${namespace}/${secret.metadata?.name} does not hold its payload, as it does only in pools that are upgraded in place; give --payload, as the Ignition server has it`,
  );
}

const isNamed =
  (name: string) =>
  ({ metadata }: Secret): boolean =>
    metadata?.name === name;

/** Of those that are not at their end. */
function newest(secrets: readonly Secret[]): Secret | undefined {
  const age = (secret: Secret) => readTokenSecret(secret).generatedAt ?? 0;
  return secrets.filter((secret) => readTokenSecret(secret).expiresAt === undefined).sort((a, b) => age(b) - age(a))[0];
}

const listed = (hashes: readonly (string | undefined)[]): string =>
  hashes.length === 0 ? "there is none of it" : `there is: ${hashes.join(", ")}`;

function unknown(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_PAYLOAD_HASH", sentence);
}
