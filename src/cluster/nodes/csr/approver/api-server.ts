/** Addresses at which a cluster reaches its API server: the service kubernetes, and what stands behind it. */
import { find } from "../../../kube/find.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import { canonicalAddress } from "../addresses.js";

interface Service extends KubeObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

interface EndpointSlice extends KubeObject {
  readonly endpoints?: readonly { readonly addresses?: readonly string[] }[] | null;
}

/** The API server gives both this name. */
export const API_SERVER_NAME = "kubernetes";
const servicePath = `/api/v1/namespaces/default/services/${API_SERVER_NAME}`;
const slicePath = `/apis/discovery.k8s.io/v1/namespaces/default/endpointslices/${API_SERVER_NAME}`;

/** In canonical spelling; empty where neither is kept. */
export async function apiServerAddresses(api: KubeApi): Promise<ReadonlySet<string>> {
  const [service, slice] = await Promise.all([find<Service>(api, servicePath), find<EndpointSlice>(api, slicePath)]);
  const { clusterIP = "", clusterIPs = [] } = service?.spec ?? {};
  const advertised = (slice?.endpoints ?? []).flatMap(({ addresses = [] }) => addresses);
  return new Set([clusterIP, ...clusterIPs, ...advertised].flatMap((address) => canonicalAddress(address) ?? []));
}
