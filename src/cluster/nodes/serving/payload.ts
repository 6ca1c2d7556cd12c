/** Fetches the parts of a payload, and checks that they are those that the pool's token Secret was made for. */

import { errorOf } from "../../../base/errors/error.js";
import { find } from "../../kube/objects.js";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { pullSecretHash, trustBundleHash } from "../hash/pool-hash.js";
import { type ConfigMap, type Secret, secretText, tokenSecretName } from "../objects.js";
import { composePayload, type PayloadRecipe, readRecipe } from "../payload/compose.js";
import { isTokenSecret, readTokenSecret, type TokenSecretView, unpack } from "../token/token-secret.js";
import type { PayloadSource } from "./token-controller.js";

const noBundle = trustBundleHash("");
const noPullSecret = pullSecretHash(new Uint8Array());

export function payloadSource(api: KubeApi, namespace: string, recipeFile: string): PayloadSource {
  return async (token) => {
    const [rawConfig, { registration }] = [token.rawConfig(), token];
    const recipe = await readRecipe(recipeFile);
    return composePayload(recipe, { rawConfig, registration, ...(await gather(api, namespace, token, recipe.names)) });
  };
}

async function gather(api: KubeApi, namespace: string, token: TokenSecretView, names: PayloadRecipe["names"]) {
  const read = async (kind: "Secret" | "ConfigMap", name: string, key: string) => {
    const object = await find<Secret | ConfigMap>(api, namedPath(kind, { namespace, name }));
    if (object === undefined) throw unusable(`the ${kind} ${namespace}/${name} does not exist yet`);
    const value = object.data?.[key];
    if (!value) throw unusable(`the ${kind} ${namespace}/${name} has no key ${key}`);
    return value;
  };
  const secret = async (name: string, key: string) => Buffer.from(await read("Secret", name, key), "base64");

  const hasPullSecret = token.pullSecretHash !== "" && token.pullSecretHash !== noPullSecret;
  const hasBundle = token.trustBundleHash !== "" && token.trustBundleHash !== noBundle;
  // One after the other: where several are missing, the same one is complained of every time.
  const kubeconfig = await secret(names.bootstrapKubeconfig, "kubeconfig");
  const pullSecret = hasPullSecret ? await secret(names.pullSecret, ".dockerconfigjson") : Buffer.alloc(0);
  const trustBundle = hasBundle ? await read("ConfigMap", names.trustBundle, "ca-bundle.crt") : "";
  if (hasPullSecret && pullSecretHash(pullSecret) !== token.pullSecretHash) {
    throw unusable(
      `the pull secret ${namespace}/${names.pullSecret} is not the one the token was made for; waiting for an update of either`,
    );
  }
  if (hasBundle && trustBundleHash(trustBundle) !== token.trustBundleHash) {
    throw unusable(
      `the trust bundle ${namespace}/${names.trustBundle} is not the one the token was made for; waiting for an update of either`,
    );
  }
  return { bootstrapKubeconfig: kubeconfig.toString("utf8"), pullSecret: pullSecret.toString("utf8"), trustBundle };
}

const unusable = errorOf("DB_PAYLOAD");

/** Given instead of a hash, it means the hash in force. */
const CURRENT_WORD = "current";

interface PoolPayloadOptions {
  readonly api: KubeApi;
  /** Namespace of the token Secrets. */
  readonly namespace: string;
  readonly pool: string;
  /** Makes what a Secret does not hold: those of pools that replace their machines. */
  readonly source: PayloadSource | undefined;
}

/** A pool's payload by its hash, without a request to the Ignition server, which would count it as a machine. */
export async function payloadOfHash(hash: string, { api, namespace, pool, source }: PoolPayloadOptions) {
  const { items } = await api.list<Secret>(collectionPath("Secret", namespace));
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

/** The newest Secret of those without an end. */
function newest(secrets: readonly Secret[]): Secret | undefined {
  const age = (secret: Secret) => readTokenSecret(secret).generatedAt ?? 0;
  return secrets.filter((secret) => readTokenSecret(secret).expiresAt === undefined).sort((a, b) => age(b) - age(a))[0];
}

const listed = (hashes: readonly (string | undefined)[]): string =>
  hashes.length === 0 ? "there is none of it" : `there is: ${hashes.join(", ")}`;

const unknown = errorOf("DB_PAYLOAD_HASH");
