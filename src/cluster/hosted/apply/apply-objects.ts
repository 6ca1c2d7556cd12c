/** Sends objects to their clusters by server-side apply, or asks what that would do. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isConflict, isNotFound, KubeApiError } from "../../kube/errors.js";
import { find } from "../../kube/find.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { FIELD_MANAGER } from "../model/names.js";
import type { Manifest, RenderedObject } from "../render/manifest.js";
import { apiOf, type Clusters, sortObjects } from "./clusters.js";
import { differences } from "./differences.js";
import type { Outcome } from "./outcome.js";

export interface ApplyWishes {
  readonly dryRun: boolean;
  /** Take over fields that another manager set. */
  readonly force: boolean;
}

export async function applyObjects(
  clusters: Clusters,
  objects: readonly RenderedObject[],
  wishes: ApplyWishes,
): Promise<Outcome[]> {
  const { wanted, skipped } = await sortObjects(clusters, objects);
  const outcomes: Outcome[] = [];
  for (const { side, manifest } of wanted) {
    outcomes.push({ side, ...(await applyOne(apiOf(clusters, side)!, manifest, wishes)) });
  }
  for (const { object, why } of skipped) {
    outcomes.push({ side: object.side, object: titleOf(object.manifest), action: "skipped", why });
  }
  return outcomes;
}

async function applyOne(
  api: KubeApi,
  manifest: Manifest,
  { dryRun, force }: ApplyWishes,
): Promise<Omit<Outcome, "side">> {
  const [path, object] = [objectPath(manifest), titleOf(manifest)];
  const before = await find(api, path);
  let after: KubeObject;
  try {
    after = await api.apply<KubeObject>(path, manifest, { fieldManager: FIELD_MANAGER, force, dryRun });
  } catch (reason) {
    throw refusal(object, manifest, reason);
  }
  if (before === undefined) return { object, action: "created" };
  const changes = differences(before, after, { isSecret: manifest.kind === "Secret" });
  return changes.length === 0 ? { object, action: "unchanged" } : { object, action: "changed", changes };
}

export function refusal(object: string, { metadata }: Manifest, reason: unknown): DrawbridgeError {
  const detail = reason instanceof KubeApiError ? reason.detail : messageOf(reason);
  if (reason instanceof KubeApiError && reason.status === 0) return reason;
  const noNamespace = isNotFound(reason) && detail.includes(`namespaces "${metadata.namespace}" not found`);
  const advice = noNamespace
    ? `; make it with kubectl create namespace ${metadata.namespace}`
    : isConflict(reason)
      ? "; --force-conflicts takes the fields over"
      : "";
  return new DrawbridgeError("DB_HOSTED_APPLY", `${object} was refused: ${detail}${advice}.`, { cause: reason });
}
