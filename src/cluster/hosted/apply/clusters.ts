/** The two clusters a hosted control plane consists of. */
import { find } from "../../kube/find.js";
import type { KubeApi } from "../../kube/port.js";
import type { RenderedObject, Side } from "../render/manifest.js";

export interface Clusters {
  readonly management: KubeApi;
  /** Undefined: its side is left alone. */
  readonly hosted: KubeApi | undefined;
}

export const apiOf = (clusters: Clusters, side: Side): KubeApi | undefined =>
  side === "hosted" ? clusters.hosted : clusters.management;

/** Whether the cluster has such an API at all: Routes exist on OpenShift only. */
export async function hasApi(api: KubeApi, apiVersion: string): Promise<boolean> {
  return !apiVersion.includes("/") || (await find(api, `/apis/${apiVersion}`)) !== undefined;
}

export interface Sorted {
  readonly wanted: readonly RenderedObject[];
  readonly skipped: readonly { readonly object: RenderedObject; readonly why: string }[];
}

/** What can be sent, and what cannot, with the reason. */
export async function sortObjects(clusters: Clusters, objects: readonly RenderedObject[]): Promise<Sorted> {
  const wanted: RenderedObject[] = [];
  const skipped: { object: RenderedObject; why: string }[] = [];
  const known = new Map<string, boolean>();
  for (const object of objects) {
    const api = apiOf(clusters, object.side);
    const { apiVersion } = object.manifest;
    if (api === undefined) {
      skipped.push({ object, why: "no kubeconfig of the hosted cluster was given" });
      continue;
    }
    const key = `${object.side} ${apiVersion}`;
    const isThere = known.get(key) ?? (await hasApi(api, apiVersion));
    known.set(key, isThere);
    if (isThere) wanted.push(object);
    else
      skipped.push({
        object,
        why: `this cluster has no API ${apiVersion}: publish by NodePort or LoadBalancer, or let a router of your own lead to the Service`,
      });
  }
  return { wanted, skipped };
}
