/** The APIs that other servers serve for the kube-apiserver, each as a call that it could make now. */
import { CheckFailure } from "../../../base/finding.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { podsOf, seconds } from "./call.js";
import type { PlannedCall, RehearsalPlan } from "./rehearsal.js";
import type { ServiceReference } from "./service.js";

export interface ApiService extends KubeObject {
  readonly spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly service?: ServiceReference | null;
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
  };
  readonly status?: {
    readonly conditions?: readonly { type: string; status: string; reason?: string; message?: string }[];
  };
}

/** Only those with a service; the kube-apiserver serves the others itself. */
export async function listApiServices(api: KubeApi, signal: AbortSignal): Promise<ApiService[]> {
  const { items } = await api.list<ApiService>("/apis/apiregistration.k8s.io/v1/apiservices", { signal });
  return items.filter(({ spec }) => spec?.service != null);
}

export function planApiService(apiService: ApiService): RehearsalPlan {
  const name = apiService.metadata?.name ?? "";
  const condition = apiService.status?.conditions?.find(({ type }) => type === "Available");
  const isAvailable = condition === undefined || condition.status === "True";
  return {
    id: `apiservice:${name}`,
    title: `Aggregated API ${name}`,
    ...(apiService.spec?.service != null && { service: apiService.spec.service }),
    details: {},
    consequence: isAvailable ? "" : `the kube-apiserver says ${condition.reason}: ${condition.message}`,
    prepare: async (service) => prepare(name, apiService.spec ?? {}, service),
  };
}

/** What a kube-apiserver gives its own availability check. */
const WAIT_MS = 5_000;

function prepare(name: string, spec: NonNullable<ApiService["spec"]>, service: ServiceReference): PlannedCall {
  const { group = "", version = "", caBundle = "", insecureSkipTLSVerify: unverified = false } = spec;
  const log = `Read the log of ${podsOf(service)}.`;
  return {
    caBundle,
    authority: `spec.caBundle of APIService ${name}`,
    unverified,
    timeoutMs: WAIT_MS,
    late: (address) => new CheckFailure(`no answer from ${address} within ${WAIT_MS / 1000} s`, log),
    request: { method: "GET", path: `/apis/${group}/${version}` },
    judge({ address, reply, totalMs }) {
      const { status } = reply!;
      const evidence = `${address} answers ${status} after ${seconds(totalMs)}`;
      // We have no rights there: such servers believe only the kube-apiserver's own certificate.
      if (![200, 401, 403].includes(status)) throw new CheckFailure(evidence, log);
      const trust = unverified ? ", its certificate not verified (insecureSkipTLSVerify)" : "";
      return { message: `${evidence}${trust}`, details: { status } };
    },
  };
}
