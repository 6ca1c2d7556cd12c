/** The APIs that other servers serve for the kube-apiserver, each as a call that it could make now. */
import { CheckFailure } from "../../../base/finding.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { ConditionedObject } from "../../../cluster/kube/pods.js";
import type { KubeApi } from "../../../cluster/kube/port.js";
import type { Rehearsal } from "./rehearsal.js";
import { podsOf, type ServiceReference } from "./service-call.js";

interface ApiService extends ConditionedObject {
  readonly spec?: {
    readonly group?: string;
    readonly version?: string;
    readonly service?: ServiceReference | null;
    readonly caBundle?: string;
    readonly insecureSkipTLSVerify?: boolean;
  };
}

/** Only those with a service; the kube-apiserver serves the others itself. */
export async function listApiServices(api: KubeApi, signal: AbortSignal): Promise<ApiService[]> {
  const { items } = await api.list<ApiService>(collectionPath("APIService"), { signal });
  return items.filter(({ spec }) => spec?.service != null);
}

/** The timeout of a kube-apiserver's own availability check. */
const WAIT_MS = 5_000;

export function apiServiceRehearsal({ metadata, spec = {}, status }: ApiService): Rehearsal {
  const name = metadata?.name ?? "";
  const { group = "", version = "", caBundle = "", insecureSkipTLSVerify: unverified = false } = spec;
  const unavailable = status?.conditions?.find((each) => each.type === "Available" && each.status !== "True");
  return {
    ...{ id: `apiservice:${name}`, about: `Aggregated API ${name}`, names: [], target: spec, details: {} },
    consequence: unavailable && `the kube-apiserver says ${unavailable.reason}: ${unavailable.message}`,
    async perform(service, { call }) {
      const remedy = `Read the log of ${podsOf(service)}.`;
      const { address, reply, timing, took } = await call({
        ...{ caBundle, authority: `spec.caBundle of APIService ${name}`, unverified, timeoutMs: WAIT_MS },
        late: [`${WAIT_MS / 1000} s`, remedy],
        request: { method: "GET", path: `/apis/${group}/${version}` },
      });
      const { status: code } = reply!;
      const evidence = `${address} answers ${code} after ${took}`;
      // We have no rights there: such servers believe only the kube-apiserver's own certificate.
      if (![200, 401, 403].includes(code)) throw new CheckFailure(evidence, remedy);
      const trust = unverified ? ", its certificate not verified (insecureSkipTLSVerify)" : "";
      return { message: `${evidence}${trust}`, details: { ...timing, status: code } };
    },
  };
}
