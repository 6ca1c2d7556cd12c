/** Brings a cluster in line with what pools need, unless they are HyperShift's. */
import { DrawbridgeError } from "../../../base/errors/error.js";
import { isConflict, KubeApiError } from "../../kube/errors.js";
import { find } from "../../kube/find.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { refuseBesideHyperShift } from "../controller/hypershift.js";
import type { Manifest } from "./manifest.js";

interface Applied {
  readonly object: string;
  readonly action: "created" | "changed" | "unchanged" | "kept";
}

const FIELD_MANAGER = "drawbridge-nodepool";

export async function applyInstall(
  api: KubeApi,
  manifests: readonly Manifest[],
  { force }: { readonly force: boolean },
): Promise<Applied[]> {
  await refuseBesideHyperShift(api);
  const applied: Applied[] = [];
  for (const manifest of manifests) applied.push(await applyOne(api, manifest, force));
  return applied;
}

async function applyOne(api: KubeApi, manifest: Manifest, force: boolean): Promise<Applied> {
  const [path, object] = [objectPath(manifest), titleOf(manifest)];
  try {
    const before = await find(api, path);
    // Its labels are its owner's business.
    if (before !== undefined && manifest.kind === "Namespace") return { object, action: "kept" };
    const after = await api.apply<KubeObject>(path, manifest, { fieldManager: FIELD_MANAGER, force });
    if (before === undefined) return { object, action: "created" };
    const isSame = before.metadata?.resourceVersion === after.metadata?.resourceVersion;
    return { object, action: isSame ? "unchanged" : "changed" };
  } catch (reason) {
    if (!(reason instanceof KubeApiError) || reason.status === 0) throw reason;
    const advice = isConflict(reason) ? "; --force-conflicts takes the fields over" : "";
    throw new DrawbridgeError("DB_NODEPOOL_INSTALL", `${object} was refused: ${reason.detail}${advice}`, {
      cause: reason,
    });
  }
}
