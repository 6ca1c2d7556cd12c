/** Where the cluster's DNS is, by its Service: OpenShift's, or the one that other clusters have. */
import type { KubeApi } from "../../../cluster/kube/port.js";
import type { Target } from "../way.js";
import { addressesOfService, type ServiceName } from "./service-names.js";

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

export function dnsServerByService(kube: () => Promise<KubeApi>): DnsServer {
  let known: Target | undefined;
  return {
    async find(stop) {
      known ??= await lookUp(await kube(), stop);
      return known;
    },
    forget() {
      known = undefined;
    },
  };
}

async function lookUp(kube: KubeApi, stop: AbortSignal): Promise<Target> {
  for (const service of SERVICES) {
    const [host] = await addressesOfService(kube, service, stop);
    if (host !== undefined) return { host, port: 53 };
  }
  throw new Error("the cluster has neither a Service dns-default in openshift-dns nor kube-dns in kube-system");
}
