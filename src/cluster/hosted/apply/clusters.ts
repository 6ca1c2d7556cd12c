/** The two clusters a hosted control plane consists of, and what is brought into them and taken out again. */
import { applyObject, deleteObject, type ObjectOutcome, releaseObject } from "../../kube/apply.js";
import { isNotFound } from "../../kube/errors.js";
import type { ManagedObject } from "../../kube/managed-fields.js";
import { find } from "../../kube/objects.js";
import { collectionPath, type Kind, objectPath, titleOf, typed } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import {
  AGENT_NAMESPACE,
  API_NAMESPACE,
  FIELD_MANAGER,
  HOSTED_LABEL,
  ownerSelector,
  SLICE_OWNER,
} from "../model/names.js";
import type { RenderedObject, Side } from "../render/manifest.js";
import { giveBack, isTakenOver, isTheirs, takingOver } from "./take-over.js";

export interface HostedClusters {
  readonly management: KubeApi;
  /** Undefined when the hosted side is left alone. */
  readonly hosted: KubeApi | undefined;
}

const clusterOf = (side: Side) => (side === "hosted" ? "hosted" : "management");

export async function applyAll(
  clusters: HostedClusters,
  objects: readonly RenderedObject[],
  { dryRun, force }: { readonly dryRun: boolean; readonly force: boolean },
): Promise<ObjectOutcome[]> {
  const outcomes: ObjectOutcome[] = [];
  const skipped: ObjectOutcome[] = [];
  const known = new Map<string, boolean>();
  for (const { side, manifest, isBorrowed } of objects) {
    const cluster = clusterOf(side);
    const api = clusters[cluster];
    const key = `${side} ${manifest.apiVersion}`;
    if (api !== undefined && !known.has(key)) known.set(key, await hasApi(api, manifest.apiVersion));
    if (api !== undefined && known.get(key)) {
      const options = { fieldManager: FIELD_MANAGER, force, dryRun };
      const before = await find<ManagedObject>(api, objectPath(manifest));
      const isOthers = !isBorrowed && before !== undefined && isTheirs(before);
      const wanted = isOthers ? takingOver(manifest, before) : { manifest, why: undefined };
      const outcome = await applyObject(api, wanted.manifest, options, { before });
      outcomes.push({ cluster, ...outcome, ...(wanted.why !== undefined && { why: wanted.why }) });
      continue;
    }
    const why =
      api === undefined
        ? "no kubeconfig of the hosted cluster was given"
        : `this cluster has no API ${manifest.apiVersion}: publish by NodePort or LoadBalancer, or let a router of your own lead to the Service`;
    skipped.push({ cluster, object: titleOf(manifest), action: "skipped", why });
  }
  return [...outcomes, ...skipped];
}

/** Whether the cluster has such an API at all: Routes exist on OpenShift only. */
async function hasApi(api: KubeApi, apiVersion: string): Promise<boolean> {
  return !apiVersion.includes("/") || (await find(api, `/apis/${apiVersion}`)) !== undefined;
}

/** Removes what carries our label and is not to be kept. */
export async function prune(
  clusters: HostedClusters,
  namespace: string,
  keep: readonly RenderedObject[],
  options: { readonly dryRun: boolean },
): Promise<ObjectOutcome[]> {
  const kept = new Set(keep.map(({ side, manifest }) => `${side} ${objectPath(manifest)}`));
  const outcomes: ObjectOutcome[] = [];
  for (const side of ["hosted", "control-plane"] as const) {
    const cluster = clusterOf(side);
    const api = clusters[cluster];
    if (api === undefined) continue;
    for (const object of await labelled(api, side, namespace)) {
      if (kept.has(`${side} ${objectPath(object)}`)) continue;
      outcomes.push({ cluster, ...(await removed(api, object, options)) });
    }
  }
  return outcomes;
}

/** What others made stays, with what they had. */
async function removed(
  api: KubeApi,
  object: KubeObject,
  options: { readonly dryRun: boolean },
): Promise<ObjectOutcome> {
  if (!isTakenOver(object)) return deleteObject(api, object, options);
  if (!options.dryRun) await giveBack(api, object);
  return { object: titleOf(object), action: "released" };
}

async function labelled(api: KubeApi, side: Side, namespace: string): Promise<KubeObject[]> {
  const found: KubeObject[] = [];
  for (const [kind, where] of collectionsOf(side, namespace)) {
    try {
      const { items } = await api.list(collectionPath(kind, where), { labelSelector: ownerSelector(namespace) });
      found.push(...items.filter(isOwn).map((item) => typed(kind, item)));
    } catch (reason) {
      // The cluster has no API for Routes, so it has none of ours.
      if (!isNotFound(reason)) throw reason;
    }
  }
  return found;
}

const isOwn = ({ metadata }: KubeObject): boolean => (metadata?.labels?.[SLICE_OWNER] ?? HOSTED_LABEL) === HOSTED_LABEL;

/** The collections that can hold ours, in the order in which they are emptied: what runs first, what it was given last. */
export function collectionsOf(side: Side, namespace: string): [kind: Kind, namespace: string | undefined][] {
  const shared = ["NetworkPolicy", "RoleBinding", "Role", "ServiceAccount", "ConfigMap", "Secret"] as const;
  if (side === "control-plane") {
    // The Endpoints are the cluster's own, although they carry the labels of our Services.
    return (["DaemonSet", "Deployment", "Route", "Service", ...shared] as const).map((kind) => [kind, namespace]);
  }
  return [
    // While their Services still lead somewhere: an API without a server keeps namespaces from being deleted.
    ["APIService", undefined],
    ...(["DaemonSet", "Deployment", "Route"] as const).map((kind): [Kind, string] => [kind, AGENT_NAMESPACE]),
    ["Service", API_NAMESPACE],
    ["EndpointSlice", API_NAMESPACE],
    ["Endpoints", API_NAMESPACE],
    ...shared.map((kind): [Kind, string] => [kind, AGENT_NAMESPACE]),
  ];
}

/** Gives back the fields of others' objects that were ours. */
export async function release(clusters: HostedClusters, borrowed: readonly RenderedObject[]): Promise<ObjectOutcome[]> {
  const outcomes: ObjectOutcome[] = [];
  for (const { side, manifest } of borrowed) {
    const cluster = clusterOf(side);
    const api = clusters[cluster];
    const released = api && (await releaseObject(api, manifest, { fieldManager: FIELD_MANAGER }));
    if (released !== undefined) outcomes.push({ cluster, ...released });
  }
  return outcomes;
}
