/** The address a kube-apiserver dials for a service. */
import { joinHostPort } from "../../../base/address.js";
import { CheckFailure } from "../../../base/finding.js";
import { isNotFound } from "../../kube/errors.js";
import { find } from "../../kube/objects.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  /** Default 443. */
  readonly port?: number;
  readonly path?: string;
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
}

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly ports?: readonly ServicePort[];
  };
}

interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly ports?: readonly Partial<ServicePort>[] | null;
  readonly endpoints?:
    | readonly { readonly addresses: readonly string[]; readonly conditions?: { readonly ready?: boolean } }[]
    | null;
}

interface Endpoints extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip: string }[];
    readonly ports?: readonly ServicePort[];
  }[];
}

/** Whether services are dialled at their endpoints or at their cluster address. */
export type Resolution = "endpoints" | "cluster-ip";

/** The kube-apiserver's own service, which it never dials through a tunnel. */
export function isApiItself({ namespace, name, port = 443 }: ServiceReference): boolean {
  return namespace === "default" && name === "kubernetes" && port === 443;
}

/** `host:port`. Throws a CheckFailure when a kube-apiserver would find nothing to dial. */
export async function resolveService(
  api: KubeApi,
  reference: ServiceReference,
  resolution: Resolution,
  signal: AbortSignal,
): Promise<string> {
  const { namespace, name, port: wanted = 443 } = reference;
  const which = `service ${namespace}/${name}`;
  const service = await find<Service>(api, path("", namespace, "services", name), { signal });
  if (service === undefined)
    throw new CheckFailure(`${which} does not exist`, `Create it, or remove the configuration that names it.`);
  const { type = "ClusterIP", clusterIP = "", externalName = "", ports = [] } = service.spec ?? {};
  if (type === "ExternalName") {
    if (resolution === "cluster-ip") return joinHostPort(externalName, wanted);
    const remedy = "Give it a service with endpoints: --enable-aggregator-routing knows no other.";
    throw new CheckFailure(
      `${which} is of type ExternalName, which a kube-apiserver that dials endpoints refuses`,
      remedy,
    );
  }
  const port = ports.find((candidate) => candidate.port === wanted);
  if (port === undefined) {
    const has = ports.map((candidate) => candidate.port).join(", ") || "none";
    throw new CheckFailure(
      `${which} has no port ${wanted} (it has ${has})`,
      `Correct the port in the configuration or in ${which}.`,
    );
  }
  if (resolution === "cluster-ip") {
    if (clusterIP !== "" && clusterIP !== "None") return joinHostPort(clusterIP, wanted);
    const remedy = "Give it a cluster address, or start the kube-apiserver with --enable-aggregator-routing=true.";
    throw new CheckFailure(`${which} has no cluster address to dial`, remedy);
  }
  const [address] = await endpointsOf(api, reference, port, signal);
  if (address !== undefined) return address;
  const remedy = `Start its pods: kubectl -n ${namespace} get endpointslices,pods and the selector of ${which} show which are missing.`;
  throw new CheckFailure(`${which} has no ready endpoint`, remedy);
}

async function endpointsOf(
  api: KubeApi,
  { namespace, name }: ServiceReference,
  port: ServicePort,
  signal: AbortSignal,
): Promise<string[]> {
  const has = (candidate: { readonly name?: string }): boolean => (candidate.name ?? "") === (port.name ?? "");
  try {
    const slices = await api.list<EndpointSlice>(path("discovery.k8s.io", namespace, "endpointslices"), {
      labelSelector: `kubernetes.io/service-name=${name}`,
      signal,
    });
    return slices.items.flatMap(({ addressType, ports, endpoints }) => {
      const number = ports?.find(has)?.port;
      if (addressType === "FQDN" || number === undefined) return [];
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
      return ready.flatMap(({ addresses }) => addresses.slice(0, 1).map((host) => joinHostPort(host, number)));
    });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
  // Clusters before 1.21 have no slices of this version.
  const { subsets = [] } = await api.get<Endpoints>(path("", namespace, "endpoints", name), { signal });
  return subsets.flatMap(({ addresses = [], ports = [] }) => {
    const number = ports.find(has)?.port;
    return number === undefined ? [] : addresses.map(({ ip }) => joinHostPort(ip, number));
  });
}

function path(group: string, namespace: string, ...rest: readonly string[]): string {
  const root = group === "" ? "/api/v1" : `/apis/${group}/v1`;
  return [root, "namespaces", ...[namespace, ...rest].map(encodeURIComponent)].join("/");
}
