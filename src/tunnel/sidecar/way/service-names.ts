/** Names that a Service of the cluster can have, and the addresses of that Service. */
import type { Answer, Ask } from "./answer-cache.js";

export interface ServiceName {
  readonly name: string;
  readonly namespace: string;
}

/** Looks up the addresses of the cluster's Services. */
export interface ServiceAddresses {
  /** None for a Service that does not exist, is headless or names an outside host: DNS knows more about these. */
  find(service: ServiceName, signal: AbortSignal): Promise<readonly string[]>;
  close(): void;
}

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

const NONE: Answer = { addresses: [], ttlMs: undefined };

export function askServices(services: ServiceAddresses, clusterDomain: string): Ask {
  return async (host, stop) => {
    const service = serviceNameOf(host, clusterDomain);
    if (service === undefined) return NONE;
    return { addresses: await services.find(service, stop), ttlMs: undefined };
  };
}
