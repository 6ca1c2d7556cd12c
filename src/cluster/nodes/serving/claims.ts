/** Claims, which record who fetched a configuration, as an inventory document that the approver reads. */

import { readFile } from "node:fs/promises";
import { stringify } from "yaml";
import { wrapErrors } from "../../../base/errors/error.js";
import { replaceFile } from "../../../base/files.js";
import { createOrUpdate, find } from "../../kube/objects.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { type Claim, INVENTORY_LABEL, readInventory } from "../csr/inventory.js";
import { type ConfigMap, type ObjectName, secondTime } from "../objects.js";

/** The newest of each worker, and of those without a name, is as good as all of them. */
type Claims = ReadonlyMap<string, Claim>;

/** Together they must fit into a ConfigMap, which may have a megabyte. */
const MOST = 10_000;
/** Longer than anybody waits for a machine to boot. */
const KEPT_MS = 7 * 24 * 60 * 60_000;

export function withClaims(claims: Claims, added: Iterable<Claim>, now: number): Claims {
  const result = new Map(claims);
  for (const claim of added) {
    const key = keyOf(claim);
    if ((result.get(key)?.at ?? 0) < claim.at) result.set(key, claim);
  }
  const newestFirst = [...result].sort(([, a], [, b]) => b.at - a.at).slice(0, MOST);
  return new Map(newestFirst.filter(([, { at }]) => now - at <= KEPT_MS));
}

/** One document for each pool. */
export function writeClaims(claims: Claims): string {
  const pools = new Map<string, object[]>();
  for (const { at, pool, worker } of [...claims.values()].sort((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1))) {
    const entry = { ...(worker === undefined ? {} : { worker }), at: secondTime(at) };
    pools.set(pool, [...(pools.get(pool) ?? []), entry]);
  }
  return [...pools].map(([pool, list]) => stringify({ pool, claims: list })).join("---\n");
}

/** Whether an inventory can name the pool: a name that it cannot have would make all of it unreadable. */
export function isClaimable(pool: string): boolean {
  return /^[^/\s]+\/[^/\s]+$/.test(pool);
}

/** The claims that an earlier write left; text that is no inventory counts as none and is written over. */
function readClaims(text: string): Claims {
  try {
    const { claims } = readInventory([{ where: "the claims", text }]);
    return new Map(claims.map((claim) => [keyOf(claim), claim]));
  } catch {
    return new Map();
  }
}

function keyOf({ pool, worker = "" }: Claim): string {
  return `${pool} ${worker}`;
}

/** Adds to the claims of a file or a ConfigMap; rejects, and changes nothing, when that is not possible now. */
export type ClaimStore = (claims: readonly Claim[], now: number) => Promise<void>;

export function claimsInFile(path: string): ClaimStore {
  return (claims, now) =>
    wrapErrors("DB_IGNITION_AUDIT", "the claims cannot be written", async () => {
      const before = await readFile(path, "utf8").catch((reason: NodeJS.ErrnoException) => {
        if (reason.code === "ENOENT") return "";
        throw reason;
      });
      await replaceFile(path, writeClaims(withClaims(readClaims(before), claims, now)), 0o600);
    });
}

/** Replicas share it: a write over somebody else's fails and is tried again. */
export function claimsInConfigMap(api: KubeApi, name: ObjectName): ClaimStore {
  return async (claims, now) => {
    const found = await find<ConfigMap>(api, namedPath("ConfigMap", name));
    const text = writeClaims(withClaims(readClaims(found?.data?.claims ?? ""), claims, now));
    const labels = { ...found?.metadata?.labels, [INVENTORY_LABEL]: "true" };
    const map = { ...found, metadata: { ...found?.metadata, ...name, labels }, data: { ...found?.data, claims: text } };
    await createOrUpdate<ConfigMap>(api, "ConfigMap", map);
  };
}
