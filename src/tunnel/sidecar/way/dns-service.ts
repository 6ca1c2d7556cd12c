/** Where the cluster's DNS is, by its Service: OpenShift's, or the one that other clusters have. */
import type { Target } from "../way.js";
import type { ServiceAddresses, ServiceName } from "./service-names.js";

const SERVICES: readonly ServiceName[] = [
  { name: "dns-default", namespace: "openshift-dns" },
  { name: "kube-dns", namespace: "kube-system" },
];

export interface DnsServer {
  find(stop: AbortSignal): Promise<Target>;
  /** It did not answer: look it up again next time. */
  forget(): void;
}

export function fixedDnsServer(server: Target): DnsServer {
  return { find: async () => server, forget: () => {} };
}

export function dnsServerByService(services: ServiceAddresses): DnsServer {
  let known: Target | undefined;
  return {
    async find(stop) {
      known ??= await lookUp(services, stop);
      return known;
    },
    forget() {
      known = undefined;
    },
  };
}

async function lookUp(services: ServiceAddresses, stop: AbortSignal): Promise<Target> {
  for (const service of SERVICES) {
    const [host] = await services.find(service, stop);
    if (host !== undefined) return { host, port: 53 };
  }
  throw new Error("the cluster has neither a Service dns-default in openshift-dns nor kube-dns in kube-system");
}
