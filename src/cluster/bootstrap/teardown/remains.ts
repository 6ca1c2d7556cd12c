/** What still carries the bridge's label, and is not on its way out. */
import { messageOf } from "../../../base/errors/error.js";
import { collectionPath, type Kind, versionOf } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import type { CreatedObject } from "../model/created.js";
import { BOOTSTRAP_ONLY_SELECTOR } from "../model/names.js";
import type { Limit } from "./limit.js";
import { webhookConfigurations } from "./objects.js";

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

export async function remainsOf(kube: KubeApi, limit: Limit): Promise<Remains> {
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
  return { type: "object", apiVersion: versionOf(kind), kind, name, ...(namespace === undefined ? {} : { namespace }) };
}
