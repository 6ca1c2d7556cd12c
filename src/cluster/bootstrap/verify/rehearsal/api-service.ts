/** Can the APIs that others serve for the kube-apiserver be reached through the tunnel? */
import { type Check, CheckFailure, fail, type Outcome, pass, skip } from "../../../../base/check.js";
import { messageOf } from "../../../../base/errors/error.js";
import type { KubeApi, KubeObject } from "../../../kube/port.js";
import type { Bridge } from "../bridge.js";
import type { Condition } from "../checks/conditions.js";
import { seconds } from "../plain-text.js";
import { exchange } from "./exchange.js";
import { isApiItself, resolveService, type ServiceReference } from "./resolve.js";
import { connectSecurely } from "./secure-connection.js";

export interface ApiService extends KubeObject {
  readonly spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly service?: ServiceReference | null;
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** Only those with a service; the others the kube-apiserver serves itself. */
export async function listApiServices(api: KubeApi, signal: AbortSignal): Promise<ApiService[]> {
  const { items } = await api.list<ApiService>("/apis/apiregistration.k8s.io/v1/apiservices", { signal });
  return items.filter(({ spec }) => spec?.service != null);
}

export function apiServiceCheck(bridge: Bridge, api: KubeApi, apiService: ApiService): Check {
  const name = apiService.metadata?.name ?? "";
  return {
    id: `apiservice:${name}`,
    title: `Aggregated API ${name}`,
    run: (signal) => reach(bridge, api, apiService, signal),
  };
}

/** What a kube-apiserver gives its own availability check. */
const WAIT_MS = 5_000;

async function reach(bridge: Bridge, api: KubeApi, apiService: ApiService, signal: AbortSignal): Promise<Outcome> {
  const { service, group = "", version = "", caBundle = "", insecureSkipTLSVerify = false } = apiService.spec ?? {};
  if (service == null || isApiItself(service)) return skip("the kube-apiserver serves it itself");
  const within = AbortSignal.timeout(WAIT_MS);
  const stop = AbortSignal.any([signal, within]);
  const authority = `spec.caBundle of APIService ${apiService.metadata?.name}`;
  const callee = { namespace: service.namespace, service: service.name, authority };
  const log = `Read the log of the pods of service ${service.namespace}/${service.name}.`;
  try {
    const target = await resolveService(api, service, bridge.resolve, stop);
    const began = performance.now();
    const unverified = insecureSkipTLSVerify;
    const { socket } = await connectSecurely(bridge, { ...callee, ...target, caBundle, unverified }, stop);
    const host = `${service.name}.${service.namespace}.svc`;
    const { status } = await exchange(socket, { method: "GET", path: `/apis/${group}/${version}`, host }, stop);
    const took = seconds(performance.now() - began);
    const trust = unverified ? ", its certificate not verified (insecureSkipTLSVerify)" : "";
    // We are nobody there: only the kube-apiserver has the certificate that such servers believe.
    if (status === 200 || status === 401 || status === 403)
      return pass(`${target.address} answers ${status} after ${took}${trust}`, { dialled: target.address, status });
    return fail(`${target.address} answers ${status} after ${took}`, log, { dialled: target.address, status });
  } catch (reason) {
    signal.throwIfAborted();
    const said = unavailable(apiService);
    if (within.aborted) return fail(`no answer within ${WAIT_MS / 1000} s${said}`, log);
    const remedy = reason instanceof CheckFailure ? reason.remedy : log;
    return fail(`${messageOf(reason)}${said}`, remedy);
  }
}

function unavailable({ status }: ApiService): string {
  const condition = status?.conditions?.find(({ type }) => type === "Available");
  if (condition === undefined || condition.status === "True") return "";
  return `; the kube-apiserver says ${condition.reason}: ${condition.message}`;
}
