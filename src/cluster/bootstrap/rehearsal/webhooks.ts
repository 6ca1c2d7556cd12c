/** The admission webhooks of a cluster, each as a call that the kube-apiserver could make now. */
import { CheckFailure } from "../../../base/finding.js";
import { plainText } from "../../../base/text.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { seconds } from "./call.js";
import type { PlannedCall, RehearsalPlan } from "./rehearsal.js";
import { admissionReview, readAdmission, reviewVersion } from "./review.js";
import type { ServiceReference } from "./service.js";

export interface AdmissionRule {
  readonly operations?: readonly string[];
  readonly apiGroups?: readonly string[];
  readonly apiVersions?: readonly string[];
  readonly resources?: readonly string[];
}

export interface AdmissionWebhook {
  readonly name: string;
  readonly clientConfig: { readonly url?: string; readonly service?: ServiceReference; readonly caBundle?: string };
  readonly rules?: readonly AdmissionRule[];
  readonly failurePolicy?: "Fail" | "Ignore";
  readonly sideEffects?: string;
  readonly timeoutSeconds?: number;
  readonly admissionReviewVersions?: readonly string[];
}

export interface ConfiguredWebhook extends AdmissionWebhook {
  readonly kind: "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration";
  readonly configuration: string;
  /** Its position in the configuration. */
  readonly index: number;
}

/** In the order in which a kube-apiserver calls them: mutating ones first. */
export async function listWebhooks(api: KubeApi, signal: AbortSignal): Promise<ConfiguredWebhook[]> {
  const found: ConfiguredWebhook[] = [];
  for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] as const) {
    const path = `/apis/admissionregistration.k8s.io/v1/${kind.toLowerCase()}s`;
    const { items } = await api.list<KubeObject & { webhooks?: AdmissionWebhook[] | null }>(path, { signal });
    for (const { metadata, webhooks } of items) {
      const configuration = metadata?.name ?? "";
      found.push(...(webhooks ?? []).map((webhook, index) => ({ ...webhook, kind, configuration, index })));
    }
  }
  return found;
}

export function planWebhook(webhook: ConfiguredWebhook): RehearsalPlan {
  const { kind, configuration, name, failurePolicy = "Fail" } = webhook;
  return {
    id: `webhook:${configuration}/${name}`,
    title: `${kind === "MutatingWebhookConfiguration" ? "Mutating" : "Validating"} webhook ${name} of ${configuration}`,
    ...webhook.clientConfig,
    details: { configuration, webhook: name, failurePolicy },
    consequence:
      failurePolicy === "Fail"
        ? "failurePolicy Fail: matching requests would be refused"
        : "failurePolicy Ignore: matching requests would pass unseen by it",
    blocks: failurePolicy === "Fail",
    prepare: (service, api, signal) => prepare(webhook, service, api, signal),
  };
}

async function prepare(
  webhook: ConfiguredWebhook,
  service: ServiceReference,
  api: KubeApi,
  signal: AbortSignal,
): Promise<PlannedCall> {
  const { sideEffects = "Unknown", timeoutSeconds = 10, clientConfig } = webhook;
  const field = `${webhook.kind} ${webhook.configuration} webhooks[${webhook.index}]`;
  const version = reviewVersion(webhook.admissionReviewVersions ?? ["v1beta1"]);
  if (version === undefined) {
    const remedy = `Let ${field}.admissionReviewVersions contain v1.`;
    throw new CheckFailure("it reads no version of AdmissionReview that a kube-apiserver writes", remedy);
  }
  const subject = await chooseSubject(api, webhook.rules ?? [], signal);
  const review = admissionReview(version, subject);
  const isHarmless = sideEffects === "None" || sideEffects === "NoneOnDryRun";
  const path = `${service.path ?? "/"}?timeout=${timeoutSeconds}s`;
  return {
    caBundle: clientConfig.caBundle ?? "",
    authority: `${field}.clientConfig.caBundle`,
    timeoutMs: timeoutSeconds * 1000,
    late: (address) =>
      new CheckFailure(
        `no answer within its timeoutSeconds, ${timeoutSeconds} s, from ${address}`,
        `Find out why it is slow, or raise ${field}.timeoutSeconds (at most 30).`,
      ),
    request: isHarmless ? { method: "POST", path, body: review.body } : undefined,
    judge({ address, reply, totalMs }) {
      const details = { timeoutSeconds, sideEffects, called: reply !== undefined };
      if (reply === undefined) {
        const connected = `${address} shows the right certificate after ${seconds(totalMs)}`;
        const why = `only connected, not called: with sideEffects ${sideEffects} a rehearsal might do harm`;
        return { message: `${connected}; ${why}`, details };
      }
      const { allowed, message } = readAdmission(review, reply, service);
      const answer = allowed ? "would allow" : `would refuse ("${plainText(message, 200)}")`;
      const what = `${subject.operation} of a ${subject.kind}`;
      return {
        message: `${address} ${answer} ${what} after ${seconds(totalMs)} of ${timeoutSeconds} s`,
        details: { ...details, allowed, totalMs },
      };
    },
  };
}

/** The request of a rehearsal: a small object of a kind that the webhook asked to see. */
export interface AdmissionSubject {
  readonly operation: string;
  readonly group: string;
  readonly version: string;
  readonly resource: string;
  readonly subResource: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

interface Discovery extends KubeObject {
  readonly preferredVersion?: { readonly version: string };
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/** For webhooks that ask for everything, and for kinds that the cluster does not know. */
const configMap: AdmissionSubject = {
  ...{ operation: "CREATE", group: "", version: "v1", resource: "configmaps", subResource: "" },
  ...{ kind: "ConfigMap", namespaced: true },
};

const isOpen = (word: string | undefined): word is undefined => word === undefined || word.startsWith("*");

/** Of the first rule; one that creates is the least surprising. */
async function chooseSubject(
  api: KubeApi,
  rules: readonly AdmissionRule[],
  signal: AbortSignal,
): Promise<AdmissionSubject> {
  const creates = ({ operations = [] }: AdmissionRule): boolean =>
    operations.some((word) => /^(CREATE|\*)$/.test(word));
  const rule = rules.find(creates) ?? rules[0];
  if (rule === undefined) return configMap;
  const operation = creates(rule) ? "CREATE" : (rule.operations?.[0] ?? "CREATE");
  const [group, full] = [rule.apiGroups?.[0], rule.resources?.[0]];
  if (isOpen(group) || isOpen(full)) return { ...configMap, operation };
  const [resource = "", part = ""] = full.split("/");
  try {
    const version = await versionOf(api, group, rule.apiVersions?.[0], signal);
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const { resources = [] } = await api.get<Discovery>(root, { signal });
    const known = resources.find(({ name }) => name === resource);
    if (known === undefined) return { ...configMap, operation };
    const { kind, namespaced } = known;
    return { operation, group, version, resource, subResource: part === "*" ? "" : part, kind, namespaced };
  } catch {
    signal.throwIfAborted();
    // A group that is not served is not asked for either; the webhook can still be called about something else.
    return { ...configMap, operation };
  }
}

async function versionOf(api: KubeApi, group: string, version: string | undefined, signal: AbortSignal) {
  if (!isOpen(version)) return version;
  if (group === "") return "v1";
  return (await api.get<Discovery>(`/apis/${group}`, { signal })).preferredVersion?.version ?? "v1";
}
