/** Removes what carries our label and is no longer wanted. */
import { isNotFound } from "../../kube/errors.js";
import { find } from "../../kube/find.js";
import { objectPath, titleOf, versionOf } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { FIELD_MANAGER, ownerSelector } from "../model/names.js";
import type { Manifest, RenderedObject, Side } from "../render/manifest.js";
import { refusal } from "./apply-objects.js";
import { apiOf, type Clusters } from "./clusters.js";
import type { Outcome } from "./outcome.js";
import { collectionsOf } from "./resources.js";

export interface PruneWishes {
  readonly dryRun: boolean;
}

export async function prune(
  clusters: Clusters,
  namespace: string,
  keep: readonly RenderedObject[],
  wishes: PruneWishes,
): Promise<Outcome[]> {
  const kept = new Set(keep.map(({ side, manifest }) => `${side} ${objectPath(manifest)}`));
  const outcomes: Outcome[] = [];
  for (const side of ["hosted", "control-plane"] as const) {
    const api = apiOf(clusters, side);
    if (api === undefined) continue;
    for (const manifest of await labelled(api, side, namespace)) {
      if (kept.has(`${side} ${objectPath(manifest)}`)) continue;
      if (!wishes.dryRun) await remove(api, objectPath(manifest));
      outcomes.push({ side, object: titleOf(manifest), action: "deleted" });
    }
  }
  return outcomes;
}

async function labelled(api: KubeApi, side: Side, namespace: string): Promise<Manifest[]> {
  const found: Manifest[] = [];
  for (const { kind, namespace: where, path } of collectionsOf(side, namespace)) {
    try {
      const { items } = await api.list<KubeObject>(path, { labelSelector: ownerSelector(namespace) });
      for (const { metadata } of items) {
        const name = metadata?.name ?? "";
        found.push({
          apiVersion: versionOf(kind),
          kind,
          metadata: { name, ...(where === undefined ? {} : { namespace: where }) },
        });
      }
    } catch (reason) {
      // The cluster does not know Routes, so it has none of ours.
      if (!isNotFound(reason)) throw reason;
    }
  }
  return found;
}

async function remove(api: KubeApi, path: string): Promise<void> {
  try {
    await api.delete(path, { propagationPolicy: "Background" });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}

/** Gives back the fields of others' objects that were ours: an apply that names none of them. */
export async function release(clusters: Clusters, borrowed: readonly RenderedObject[]): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { side, manifest } of borrowed) {
    const api = apiOf(clusters, side);
    const [path, object] = [objectPath(manifest), titleOf(manifest)];
    if (api === undefined || (await find(api, path)) === undefined) continue;
    const { apiVersion, kind } = manifest;
    const { name, namespace } = manifest.metadata;
    const bare: Manifest = { apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } };
    try {
      await api.apply(path, bare, { fieldManager: FIELD_MANAGER });
    } catch (reason) {
      throw refusal(object, manifest, reason);
    }
    outcomes.push({ side, object, action: "released" });
  }
  return outcomes;
}
