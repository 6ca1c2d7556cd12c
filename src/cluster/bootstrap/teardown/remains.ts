/** What still carries the bridge's label, and is not on its way out. */
import { messageOf } from "../../../base/errors/error.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { collectionPath, type ObjectKind, webhookConfigurations } from "../host/object-path.js";
import type { CreatedObject } from "../model/created.js";
import { BOOTSTRAP_ONLY_SELECTOR } from "../model/names.js";
import type { Limit } from "./limit.js";

interface Labelled extends KubeObject {
  readonly metadata?: KubeObject["metadata"] & {
    readonly deletionTimestamp?: string;
    readonly ownerReferences?: readonly { readonly kind?: string; readonly controller?: boolean }[];
  };
}

const kinds: readonly ObjectKind[] = [
  ...webhookConfigurations,
  { apiVersion: "v1", kind: "Namespace" },
  { apiVersion: "apps/v1", kind: "DaemonSet" },
  { apiVersion: "v1", kind: "Secret" },
  { apiVersion: "v1", kind: "ServiceAccount" },
  { apiVersion: "rbac.authorization.k8s.io/v1", kind: "RoleBinding" },
  { apiVersion: "v1", kind: "Pod" },
];

export interface Remains {
  readonly objects: readonly CreatedObject[];
  /** Why some could not be looked for; one sentence each. */
  readonly unknown: readonly string[];
}

export async function remainsOf(kube: KubeApi, limit: Limit): Promise<Remains> {
  const found: { readonly type: ObjectKind; readonly object: Labelled }[] = [];
  const unknown: string[] = [];
  for (const type of kinds) {
    const options = { labelSelector: BOOTSTRAP_ONLY_SELECTOR, timeoutMs: limit.requestMs() };
    try {
      const { items } = await kube.list<Labelled>(collectionPath(type), options);
      found.push(...items.map((object) => ({ type, object })));
    } catch (reason) {
      unknown.push(`Whether a ${type.kind} of the bridge remains is not known: ${messageOf(reason)}`);
    }
  }
  const ending = found.filter(({ type, object }) => type.kind === "Namespace" && object.metadata?.deletionTimestamp);
  const endingNames = new Set(ending.map(({ object }) => object.metadata?.name));
  const staying = found.filter(({ object: { metadata } }) => {
    // Whatever is in a namespace that goes, goes.
    return !metadata?.deletionTimestamp && !endingNames.has(metadata?.namespace);
  });
  return { objects: staying.map(({ type, object }) => createdObject(type, object)), unknown };
}

function createdObject({ apiVersion, kind }: ObjectKind, { metadata }: Labelled): CreatedObject {
  const { name = "", namespace } = metadata ?? {};
  return { type: "object", apiVersion, kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
