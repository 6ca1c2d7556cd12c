/** The addresses of Services, for a sidecar that resolves names by them. */

import { isIP } from "node:net";
import type { ServiceAddresses, ServiceName } from "../../tunnel/sidecar/routing/cluster-dns.js";
import { find } from "./objects.js";
import type { KubeAccess } from "./open.js";
import { namedPath } from "./paths.js";
import type { KubeApi, KubeObject } from "./port.js";

interface Service extends KubeObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

/** An API server that hangs must leave time for the resolvers behind it. */
const API_WAIT_MS = 5_000;

/** The API is loaded and opened at the first look-up; an attempt to open it that failed is not remembered. */
export function openServiceAddresses(
  access: KubeAccess,
  open = async (wanted: KubeAccess): Promise<KubeApi> => (await import("./open.js")).openKubeApi(wanted),
): ServiceAddresses {
  let opening: Promise<KubeApi> | undefined;
  return {
    async find(service, signal) {
      // HTTPS_PROXY beside a sidecar is mostly the sidecar itself, which would ask the API through itself.
      opening ??= open({ ...access, env: {} }).catch((reason: unknown) => {
        opening = undefined;
        throw reason;
      });
      return await addressesOfService(await opening, service, signal);
    },
    close() {
      void opening?.then(
        (api) => api.close(),
        () => {},
      );
    },
  };
}

async function addressesOfService(
  kube: KubeApi,
  { name, namespace }: ServiceName,
  signal: AbortSignal,
): Promise<string[]> {
  const path = namedPath("Service", { namespace, name });
  const { spec } = (await find<Service>(kube, path, { signal, timeoutMs: API_WAIT_MS })) ?? {};
  const all = spec?.clusterIPs ?? [spec?.clusterIP ?? ""];
  return all.filter((address) => isIP(address) !== 0);
}
