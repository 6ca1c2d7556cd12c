/** Takes the bridge's objects out of the cluster. Orders only: it never waits for a finalizer. */
import { messageOf } from "../../../base/errors/error.js";
import { isNotFound, isTransient } from "../../kube/errors.js";
import { find } from "../../kube/objects.js";
import { apiVersionOf, collectionPath, type Kind, objectPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { Host } from "../host/host.js";
import type { CreatedObject } from "../model/created.js";
import { BOOTSTRAP_ONLY_SELECTOR, bootstrapOnlyLabel } from "../model/names.js";
import type { FinalState } from "./receipt.js";
import type { TeardownLimit } from "./release.js";

export interface RemovedObject {
  readonly object: CreatedObject;
  readonly state: FinalState;
  readonly detail: string;
  /** It was on its way out before this teardown, which therefore did nothing about it. */
  readonly toldBefore?: true;
}

interface Live extends KubeObject {
  readonly metadata?: KubeObject["metadata"] & { readonly deletionTimestamp?: string };
}

export interface ObjectRemoval {
  readonly objects: readonly RemovedObject[];
  /** False when it did not answer until the limit. */
  readonly apiAnswered: boolean;
}

const BETWEEN_MS = 1_000;

/** In no namespace, so none takes them along. */
export const webhookConfigurations = ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"] as const;

/** In the order given. `mayGo` says of an object that has no label of ours whether it is one all the same. */
export async function removeObjects(
  host: Host,
  kube: KubeApi,
  objects: readonly CreatedObject[],
  limit: TeardownLimit,
  mayGo: (object: CreatedObject) => Promise<boolean> = async () => false,
): Promise<ObjectRemoval> {
  const removed: RemovedObject[] = [];
  let apiAnswered = true;
  for (const object of objects) {
    const outcome: RemovedObject | undefined = apiAnswered
      ? await removeOne(host, kube, object, limit, mayGo)
      : undefined;
    if (outcome === undefined) apiAnswered = false;
    removed.push(outcome ?? { object, state: "left", detail: "the Kubernetes API did not answer" });
  }
  return { objects: removed, apiAnswered };
}

/**
 * Configurations that a test of `verify` left behind when it was killed: they stand outside the namespace, their names
 * are known to nobody, and as long as they are in force they make the kube-apiserver call what is going away. Undefined
 * when the API did not answer until the limit.
 */
export async function leftConfigurations(
  host: Host,
  kube: KubeApi,
  limit: TeardownLimit,
): Promise<readonly CreatedObject[] | undefined> {
  const found: CreatedObject[] = [];
  for (const kind of webhookConfigurations) {
    const items = await retried(host, limit, async () => {
      const options = { labelSelector: BOOTSTRAP_ONLY_SELECTOR, timeoutMs: limit.requestMs() };
      return (await kube.list(collectionPath(kind), options)).items;
    }).catch(() => []);
    if (items === undefined) return undefined;
    const type = { type: "object", apiVersion: apiVersionOf(kind), kind } as const;
    found.push(...items.map(({ metadata }) => ({ ...type, name: metadata?.name ?? "" })));
  }
  return found;
}

/** Undefined when the API did not answer until the limit. */
async function removeOne(
  host: Host,
  kube: KubeApi,
  object: CreatedObject,
  limit: TeardownLimit,
  mayGo: (object: CreatedObject) => Promise<boolean>,
): Promise<RemovedObject | undefined> {
  try {
    const outcome = await retried(host, limit, () => attempt(kube, object, limit, mayGo));
    return outcome && { object, ...outcome };
  } catch (reason) {
    return { object, state: "left", detail: messageOf(reason).replace(/\.$/, "") };
  }
}

/** Until the API says something to the matter; undefined when it did not until the limit. */
async function retried<T>(host: Host, limit: TeardownLimit, ask: () => Promise<T>): Promise<T | undefined> {
  for (;;) {
    try {
      return await ask();
    } catch (reason) {
      if (!isTransient(reason)) throw reason;
    }
    if (limit.leftMs <= BETWEEN_MS) return undefined;
    await host.pause(BETWEEN_MS);
  }
}

async function attempt(
  kube: KubeApi,
  object: CreatedObject,
  limit: TeardownLimit,
  mayGo: (object: CreatedObject) => Promise<boolean>,
): Promise<Omit<RemovedObject, "object">> {
  const path = pathOf(object);
  const live = await find<Live>(kube, path, { timeoutMs: limit.requestMs() });
  if (live === undefined) return { state: "absent", detail: "" };
  if (live.metadata?.deletionTimestamp)
    return { state: "going", detail: "it was told to go before and is terminating", toldBefore: true };
  if (!isOurs(live) && !(await mayGo(object))) {
    const [label] = Object.keys(bootstrapOnlyLabel);
    return { state: "absent", detail: `one of that name does not carry the label ${label}, so it is not the bridge's` };
  }
  try {
    await kube.delete(path, { propagationPolicy: "Background", timeoutMs: limit.requestMs() });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
  // A namespace goes when all in it is gone; that may need webhooks which cannot be reached now, so nobody waits.
  return (await find<Live>(kube, path, { timeoutMs: limit.requestMs() })) === undefined
    ? { state: "removed", detail: "" }
    : { state: "going", detail: "" };
}

export function isOurs({ metadata }: KubeObject): boolean {
  return Object.entries(bootstrapOnlyLabel).every(([label, value]) => metadata?.labels?.[label] === value);
}

export function pathOf({ apiVersion, kind, name, namespace }: CreatedObject): string {
  return objectPath({ apiVersion, kind, metadata: { name, ...(namespace === undefined ? {} : { namespace }) } });
}

// What still carries the bridge's label, and is not on its way out.

interface Labelled extends KubeObject {
  readonly metadata?: KubeObject["metadata"] & {
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind?: string; readonly controller?: boolean }[];
  };
}

const kinds: readonly Kind[] = [
  ...webhookConfigurations,
  ...(["Namespace", "DaemonSet", "Secret", "ServiceAccount", "RoleBinding", "Pod"] as const),
];

export interface Remains {
  readonly objects: readonly CreatedObject[];
  /** Why some could not be looked for; one sentence each. */
  readonly unknown: readonly string[];
}

export async function remainsOf(kube: KubeApi, limit: TeardownLimit): Promise<Remains> {
  const found: { readonly kind: Kind; readonly object: Labelled }[] = [];
  const unknown: string[] = [];
  for (const kind of kinds) {
    const options = { labelSelector: BOOTSTRAP_ONLY_SELECTOR, timeoutMs: limit.requestMs() };
    try {
      const { items } = await kube.list<Labelled>(collectionPath(kind), options);
      found.push(...items.map((object) => ({ kind, object })));
    } catch (reason) {
      unknown.push(`Whether a ${kind} of the bridge remains is not known: ${messageOf(reason)}`);
    }
  }
  const ending = found.filter(({ kind, object }) => kind === "Namespace" && object.metadata?.deletionTimestamp);
  const endingNames = new Set(ending.map(({ object }) => object.metadata?.name));
  const staying = found.filter(({ object: { metadata } }) => {
    // Whatever is in a namespace that goes, goes.
    return !metadata?.deletionTimestamp && !endingNames.has(metadata?.namespace);
  });
  return { objects: staying.map(({ kind, object }) => createdObject(kind, object)), unknown };
}

function createdObject(kind: Kind, { metadata }: Labelled): CreatedObject {
  const { name = "", namespace } = metadata ?? {};
  return {
    type: "object",
    apiVersion: apiVersionOf(kind),
    kind,
    name,
    ...(namespace === undefined ? {} : { namespace }),
  };
}
