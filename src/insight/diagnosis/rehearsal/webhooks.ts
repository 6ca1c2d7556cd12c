/** The admission webhooks of a cluster, each as a call that the kube-apiserver could make now. */
import { plainText } from "../../../base/text.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { Caller, Rehearsal } from "./rehearsal.js";
import { type AdmissionSubject, admissionReview, readAdmission, reviewVersion } from "./review.js";
import type { ServiceReference } from "./service-call.js";

interface AdmissionRule {
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

/** A webhook with its place: the configuration that declares it, and the field there. */
export interface DeclaredWebhook extends AdmissionWebhook {
  readonly configuration: KubeObject["metadata"];
  readonly field: string;
}

/** In the order in which a kube-apiserver calls them: mutating ones first. */
export async function listWebhooks(api: KubeApi, signal: AbortSignal): Promise<DeclaredWebhook[]> {
  const found: DeclaredWebhook[] = [];
  for (const kind of ["MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"] as const) {
    const { items } = await api.list<KubeObject & { webhooks?: AdmissionWebhook[] | null }>(collectionPath(kind), {
      signal,
    });
    for (const { metadata: configuration, webhooks } of items) {
      const fieldOf = (index: number) => `${kind} ${configuration?.name} webhooks[${index}]`;
      found.push(...(webhooks ?? []).map((each, index) => ({ ...each, configuration, field: fieldOf(index) })));
    }
  }
  return found;
}

/** Whether calling it in a dry run changes nothing. */
export const isHarmless = ({ sideEffects }: AdmissionWebhook): boolean =>
  sideEffects === "None" || sideEffects === "NoneOnDryRun";

export function webhookRehearsal(webhook: DeclaredWebhook): Rehearsal {
  const { clientConfig: target, field, name, failurePolicy = "Fail" } = webhook;
  const { name: configuration = "" } = webhook.configuration ?? {};
  const blocks = failurePolicy === "Fail";
  return {
    ...{ id: `webhook:${configuration}/${name}`, names: [name, configuration], target, blocks },
    about: `${field.startsWith("Mutating") ? "Mutating" : "Validating"} webhook ${name} of ${configuration}`,
    details: { configuration, webhook: name, failurePolicy },
    consequence: blocks
      ? "failurePolicy Fail: matching requests would be refused"
      : "failurePolicy Ignore: matching requests would pass unseen by it",
    perform: (service, caller) => rehearse(webhook, service, caller),
  };
}

async function rehearse(webhook: DeclaredWebhook, service: ServiceReference, { api, call, signal }: Caller) {
  const { sideEffects = "Unknown", timeoutSeconds = 10, clientConfig, field } = webhook;
  const accepted = webhook.admissionReviewVersions ?? ["v1beta1"];
  const version = reviewVersion("AdmissionReview", accepted, `${field}.admissionReviewVersions`);
  const subject = await chooseSubject(api, webhook.rules ?? [], signal);
  const review = admissionReview(version, subject);
  const path = `${service.path ?? "/"}?timeout=${timeoutSeconds}s`;
  const { address, reply, timing, took, totalMs } = await call({
    ...{ caBundle: clientConfig.caBundle ?? "", authority: `${field}.clientConfig.caBundle` },
    timeoutMs: timeoutSeconds * 1000,
    late: [
      `its timeoutSeconds, ${timeoutSeconds} s,`,
      `Find out why it is slow, or raise ${field}.timeoutSeconds (at most 30).`,
    ],
    request: isHarmless(webhook) ? { method: "POST", path, body: review.body } : undefined,
  });
  const details = { ...timing, timeoutSeconds, sideEffects, called: reply !== undefined };
  if (reply === undefined) {
    const why = `only connected, not called: with sideEffects ${sideEffects} a rehearsal might do harm`;
    return { message: `${address} shows the right certificate after ${took}; ${why}`, details };
  }
  const { allowed, message } = readAdmission(review, reply, service);
  const answer = allowed ? "would allow" : `would refuse ("${plainText(message, 200)}")`;
  return {
    message: `${address} ${answer} ${subject.operation} of a ${subject.kind} after ${took} of ${timeoutSeconds} s`,
    details: { ...details, allowed, totalMs },
  };
}

interface Discovery extends KubeObject {
  readonly preferredVersion?: { readonly version: string };
  readonly resources?: readonly { readonly name: string; readonly kind: string; readonly namespaced: boolean }[];
}

/** For webhooks that ask for everything, and for kinds that the cluster does not know. */
const CONFIG_MAP: AdmissionSubject = {
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
  const rule = rules.find(creates) ?? rules[0] ?? {};
  const operation = creates(rule) ? "CREATE" : (rule.operations?.[0] ?? "CREATE");
  const usual = { ...CONFIG_MAP, operation };
  const [group, full] = [rule.apiGroups?.[0], rule.resources?.[0]];
  if (isOpen(group) || isOpen(full)) return usual;
  const [resource = "", part = ""] = full.split("/");
  try {
    const version = await versionOf(api, group, rule.apiVersions?.[0], signal);
    const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
    const { resources = [] } = await api.get<Discovery>(root, { signal });
    const known = resources.find(({ name }) => name === resource);
    if (known === undefined) return usual;
    const { kind, namespaced } = known;
    return { operation, group, version, resource, subResource: part === "*" ? "" : part, kind, namespaced };
  } catch {
    signal.throwIfAborted();
    // A group that is not served is not asked for either; the webhook can still be called about something else.
    return usual;
  }
}

async function versionOf(api: KubeApi, group: string, version: string | undefined, signal: AbortSignal) {
  if (!isOpen(version)) return version;
  if (group === "") return "v1";
  return (await api.get<Discovery>(`/apis/${group}`, { signal })).preferredVersion?.version ?? "v1";
}
