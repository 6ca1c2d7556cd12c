/** The credential that a pool's machines join with, and what its API server says to it. */
import { messageOf } from "../../../base/errors/error.js";
import { find } from "../../../cluster/kube/objects.js";
import { namedPath } from "../../../cluster/kube/paths.js";
import { OWNER_LABEL, OWNER_NAME } from "../../../cluster/nodes/controller/hypershift.js";
import { readCredential, tryCredential } from "../../../cluster/nodes/credential/credential.js";
import { BOOTSTRAP_SECRET, pathOf, type Secret } from "../../../cluster/nodes/objects.js";
import { readTokenSecret } from "../../../cluster/nodes/token/token-secret.js";
import { unavailable } from "../check.js";
import type { PoolState } from "./pool.js";

export type TriedCredential = Awaited<ReturnType<typeof bootstrapCredential>>;

/** Beside HyperShift, which keeps its Secrets elsewhere, and before a pool has a token there is none to try. */
export async function bootstrapCredential({ context, now, pool: { namespace }, tokenSecret }: PoolState) {
  if (tokenSecret?.metadata?.namespace !== namespace) return unavailable("");
  const name = { namespace, name: BOOTSTRAP_SECRET };
  const where = `Secret ${pathOf(name)}`;
  const secret = await find<Secret>(context.clusters.pools, namedPath("Secret", name));
  if (secret === undefined) {
    return { where, isPayloadMade: readTokenSecret(tokenSecret).outcome?.reason === "AsExpected" };
  }
  const isRenewed = secret.metadata?.labels?.[OWNER_LABEL] === OWNER_NAME;
  try {
    const credential = await readCredential(secret);
    const hasEnded = credential.life !== undefined && credential.life.until <= now;
    return { where, isRenewed, credential, answer: hasEnded ? undefined : await tryCredential(credential) };
  } catch (reason) {
    return { where, problem: messageOf(reason) };
  }
}
