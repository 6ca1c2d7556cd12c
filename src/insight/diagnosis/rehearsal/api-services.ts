/** The APIs that other servers serve for the kube-apiserver, each as a call that it could make now. */
import { CheckFailure } from "../../../base/finding.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { Rehearsal } from "./rehearsal.js";
import { podsOf, type ServiceReference } from "./service-call.js";

interface ApiService extends KubeObject {
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
export async function listApiServices(api: KubeApi, signal: AbortSignal): Promise<Rehearsal[]> {
  const { items } = await api.list<ApiService>(collectionPath("APIService"), { signal });
  return items.filter(({ spec }) => spec?.service != null).map(rehearsalOf);
}

/** The timeout of a kube-apiserver's own availability check. */
const WAIT_MS = 5_000;

function rehearsalOf({ metadata, spec = {}, status: { conditions = [] } = {} }: ApiService): Rehearsal {
  const name = metadata?.name ?? "";
  const { group = "", version = "", caBundle = "", insecureSkipTLSVerify: unverified = false } = spec;
  const unavailable = conditions.find(({ type, status }) => type === "Available" && status !== "True");
  return {
    ...{ id: `apiservice:${name}`, about: `Aggregated API ${name}`, names: [], target: spec, details: {} },
    consequence:
      unavailable === undefined ? "" : `the kube-apiserver says ${unavailable.reason}: ${unavailable.message}`,
    async perform(service, { call }) {
      const remedy = `Read the log of ${podsOf(service)}.`;
      const { address, reply, timing, took } = await call({
        ...{ caBundle, authority: `spec.caBundle of APIService ${name}`, unverified, timeoutMs: WAIT_MS },
        late: (late) => new CheckFailure(`no answer from ${late} within ${WAIT_MS / 1000} s`, remedy),
        request: { method: "GET", path: `/apis/${group}/${version}` },
      });
      const { status } = reply!;
      const evidence = `${address} answers ${status} after ${took}`;
      // We have no rights there: such servers believe only the kube-apiserver's own certificate.
      if (![200, 401, 403].includes(status)) throw new CheckFailure(evidence, remedy);
      const trust = unverified ? ", its certificate not verified (insecureSkipTLSVerify)" : "";
      return { message: `${evidence}${trust}`, details: { ...timing, status } };
    },
  };
}
