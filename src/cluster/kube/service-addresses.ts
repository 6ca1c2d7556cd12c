/** The addresses of Services, for a sidecar that resolves names by them. */

import { isIP } from "node:net";
import type { ServiceAddresses, ServiceName } from "../../tunnel/sidecar/routing/cluster-dns.js";
import { isNotFound } from "./errors.js";
import { namedPath } from "./paths.js";
import type { KubeApi, KubeObject } from "./port.js";

interface Service extends KubeObject {
  readonly spec?: { readonly clusterIP?: string; readonly clusterIPs?: readonly string[] };
}

/** An API server that hangs must leave time for the resolvers behind it. */
const API_WAIT_MS = 5_000;

/** The API is loaded and opened at the first look-up; an attempt to open it that failed is not remembered. */
export function openServiceAddresses(
  access: { readonly kubeconfig: string; readonly qps: number; readonly burst: number },
  open: typeof openApi = openApi,
): ServiceAddresses {
  let opening: Promise<KubeApi> | undefined;
  return {
    async find(service, signal) {
      opening ??= open(access).catch((reason: unknown) => {
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

async function openApi(access: Parameters<typeof openServiceAddresses>[0]): Promise<KubeApi> {
  const { openKubeApi } = await import("./open.js");
  return await openKubeApi(access);
}

async function addressesOfService(
  kube: KubeApi,
  { name, namespace }: ServiceName,
  signal: AbortSignal,
): Promise<string[]> {
  try {
    const path = namedPath("Service", { namespace, name });
    const { spec } = await kube.get<Service>(path, { signal, timeoutMs: API_WAIT_MS });
    const all = spec?.clusterIPs ?? [spec?.clusterIP ?? ""];
    return all.filter((address) => isIP(address) !== 0);
  } catch (reason) {
    if (isNotFound(reason)) return [];
    throw reason;
  }
}
