/** Takes the bridge's objects out of the cluster. It never waits for a finalizer. */
import { messageOf, reasonOf } from "../../../base/errors/error.js";
import { isTransient } from "../../kube/errors.js";
import { deleteIfPresent, find } from "../../kube/objects.js";
import { apiVersionOf, collectionPath, type Kind, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import type { Host } from "../host/host.js";
import type { CreatedObject } from "../model/created.js";
import { AGENT_NAME, BOOTSTRAP_ONLY_SELECTOR, bootstrapOnlyLabel } from "../model/names.js";
import type { Removal } from "./receipt.js";
import type { TeardownLimit } from "./scope.js";

const BETWEEN_MS = 1_000;

/** These are in no namespace, so none takes them along. */
const WEBHOOK_CONFIGURATIONS = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const;

const KINDS: readonly Kind[] = [
  ...WEBHOOK_CONFIGURATIONS,
  ...(["Namespace", "DaemonSet", "Secret", "ServiceAccount", "RoleBinding", "Pod"] as const),
];

/** In the order given. `failure` is why the API did not answer until the limit; what was not asked for is then unknown. */
export async function removeObjects(
  host: Host,
  kube: KubeApi,
  objects: readonly CreatedObject[],
  limit: TeardownLimit,
): Promise<{ readonly removed: readonly [CreatedObject, Removal][]; readonly failure: unknown }> {
  const removed: [CreatedObject, Removal][] = [];
  let failure: unknown;
  for (const object of [...(await leftConfigurations(host, kube, limit)), ...objects]) {
    let removal: Removal = { state: "unknown", detail: "the Kubernetes API did not answer" };
    try {
      if (failure === undefined) removal = await retried(host, limit, () => attempt(kube, object, limit));
    } catch (reason) {
      if (isTransient(reason)) failure = reason;
      else removal = { state: "left", detail: reasonOf(reason) };
    }
    removed.push([object, removal]);
  }
  return { removed, failure };
}

/**
 * Configurations that a test of `verify` left behind when it was killed: they are outside the namespace, their names
 * are known to nobody, and as long as they are in force they make the kube-apiserver call what is going away.
 */
async function leftConfigurations(host: Host, kube: KubeApi, limit: TeardownLimit): Promise<CreatedObject[]> {
  const found: CreatedObject[] = [];
  for (const kind of WEBHOOK_CONFIGURATIONS) {
    const listed = await retried(host, limit, () => labelled(kube, kind, limit)).catch(() => []);
    found.push(...listed.map(({ object }) => object));
  }
  return found;
}

/** Repeats while the API gives no answer of its own; throws the last failure when that lasted until the limit. */
async function retried<T>(host: Host, limit: TeardownLimit, ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (reason) {
      if (!isTransient(reason) || limit.leftMs <= BETWEEN_MS) throw reason;
    }
    await host.pause(BETWEEN_MS);
  }
}

async function attempt(kube: KubeApi, object: CreatedObject, limit: TeardownLimit): Promise<Removal> {
  const path = namedPath(object.kind as Kind, object);
  const live = await find(kube, path, { timeoutMs: limit.requestMs() });
  if (live === undefined) return { state: "absent", detail: "" };
  if (live.metadata?.deletionTimestamp)
    return { state: "going", detail: "its removal was ordered before and it is terminating", isUntouched: true };
  const [[label, value] = ["", ""]] = Object.entries(bootstrapOnlyLabel);
  if (live.metadata?.labels?.[label] !== value && !(await isOfOlderLayout(kube, object)))
    return { state: "absent", detail: `one of that name does not carry the label ${label}, so it is not the bridge's` };
  await deleteIfPresent(kube, path, { propagationPolicy: "Background", timeoutMs: limit.requestMs() });
  // A namespace goes when all in it is gone; that may need webhooks which cannot be reached now, so nobody waits.
  const isGone = (await find(kube, path, { timeoutMs: limit.requestMs() })) === undefined;
  return { state: isGone ? "removed" : "going", detail: "" };
}

/**
 * The older layout's Secret may have no label. A DaemonSet of that name without one belongs to somebody's permanent
 * Konnectivity, and so does a Secret beside it.
 */
async function isOfOlderLayout(kube: KubeApi, { kind, namespace }: CreatedObject): Promise<boolean> {
  if (kind !== "Secret" || namespace !== "kube-system") return false;
  return find(kube, namedPath("DaemonSet", { namespace, name: AGENT_NAME })).then(
    (daemonSet) => daemonSet === undefined,
    () => false,
  );
}

async function labelled(kube: KubeApi, kind: Kind, limit: TeardownLimit) {
  const options = { labelSelector: BOOTSTRAP_ONLY_SELECTOR, timeoutMs: limit.requestMs() };
  const { items } = await kube.list(collectionPath(kind), options);
  const base = { type: "object", apiVersion: apiVersionOf(kind), kind } as const;
  return items.map(({ metadata: { name = "", namespace, deletionTimestamp } = {} }) => {
    const object: CreatedObject = { ...base, name, ...(namespace !== undefined && { namespace }) };
    return { object, isEnding: deletionTimestamp !== undefined };
  });
}

/** Objects that still carry the bridge's label and are not being removed; `unknown` says which could not be listed and why. */
export async function remainsOf(kube: KubeApi, limit: TeardownLimit) {
  const found: Awaited<ReturnType<typeof labelled>> = [];
  const unknown: string[] = [];
  for (const kind of KINDS) {
    try {
      found.push(...(await labelled(kube, kind, limit)));
    } catch (reason) {
      unknown.push(`Whether a ${kind} of the bridge remains is not known: ${messageOf(reason)}`);
    }
  }
  // Whatever is in a namespace that goes, goes.
  const ending = found.filter(({ isEnding, object }) => isEnding && object.kind === "Namespace");
  const namespaces = new Set(ending.map(({ object }) => object.name));
  const staying = found.filter(({ isEnding, object }) => !isEnding && !namespaces.has(object.namespace ?? ""));
  return { objects: staying.map(({ object }) => object), unknown };
}
