/** Names that a Service of the cluster can have, and the addresses of that Service. */
import { isIP } from "node:net";
import { isNotFound } from "../../../cluster/kube/errors.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { Answer, Ask } from "./answer-cache.js";

export interface ServiceName {
  readonly name: string;
  readonly namespace: string;
}

interface Service extends KubeObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

/** An API server that hangs must leave time for the resolvers behind it. */
const API_WAIT_MS = 5_000;

const LABEL = /^[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?$/;

/**
 * `name.namespace`, `name.namespace.svc` and `name.namespace.svc.<cluster domain>`, and nothing else: with a longer name
 * an outside host could be mistaken for a Service.
 */
export function serviceNameOf(host: string, clusterDomain: string): ServiceName | undefined {
  const [name = "", namespace = "", ...rest] = host.toLowerCase().replace(/\.$/, "").split(".");
  const tail = rest.join(".");
  if (tail !== "" && tail !== "svc" && tail !== `svc.${clusterDomain.toLowerCase()}`) return undefined;
  return LABEL.test(name) && LABEL.test(namespace) ? { name, namespace } : undefined;
}

/** None for headless Services and those that stand for an outside name: DNS knows more about these. */
export async function addressesOfService(
  kube: KubeApi,
  { name, namespace }: ServiceName,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const path = `/api/v1/namespaces/${namespace}/services/${name}`;
    const { spec } = await kube.get<Service>(path, { signal, timeoutMs: API_WAIT_MS });
    const all = spec?.clusterIPs ?? [spec?.clusterIP ?? ""];
    return all.filter((address) => isIP(address) !== 0);
  } catch (reason) {
    if (isNotFound(reason)) return [];
    throw reason;
  }
}

const NONE: Answer = { addresses: [], ttlMs: undefined };

export function askServices(kube: () => Promise<KubeApi>, clusterDomain: string): Ask {
  return async (host, stop) => {
    const service = serviceNameOf(host, clusterDomain);
    if (service === undefined) return NONE;
    return { addresses: await addressesOfService(await kube(), service, stop), ttlMs: undefined };
  };
}
