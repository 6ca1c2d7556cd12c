/** The webhooks and aggregated APIs of a cluster, each as a call that the kube-apiserver could make now. */

import { CheckFailure } from "../../../base/finding.js";
import { plainText } from "../../../base/text.js";
import { isNotFound } from "../../../cluster/kube/errors.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { ConditionedObject } from "../../../cluster/kube/pods.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { Rehearsal, RehearsalCaller } from "./rehearsal.js";
import {
  type AdmissionSubject,
  admissionReview,
  conversionReview,
  readAdmission,
  readConversion,
  reviewVersion,
} from "./review.js";
import { podsOf, type ServiceReference } from "./service-call.js";

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

async function rehearse(webhook: DeclaredWebhook, service: ServiceReference, { api, call, signal }: RehearsalCaller) {
  const { sideEffects = "Unknown", timeoutSeconds = 10, clientConfig, field } = webhook;
  const accepted = webhook.admissionReviewVersions ?? ["v1beta1"];
  const version = reviewVersion("AdmissionReview", accepted, `${field}.admissionReviewVersions`);
  const subject = await chooseSubject(api, webhook.rules ?? [], signal);
  const review = admissionReview(version, subject);
  const { address, reply, timing, took, totalMs } = await call({
    ...{ caBundle: clientConfig.caBundle ?? "", authority: `${field}.clientConfig.caBundle` },
    timeoutMs: timeoutSeconds * 1000,
    late: [
      `its timeoutSeconds, ${timeoutSeconds} s,`,
      `Find out why it is slow, or raise ${field}.timeoutSeconds (at most 30).`,
    ],
    request: isHarmless(webhook) ? post(service, timeoutSeconds, review.body) : undefined,
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

/** As a kube-apiserver asks webhooks. */
const post = ({ path = "/" }: ServiceReference, seconds: number, body: string) =>
  ({ method: "POST", path: `${path}?timeout=${seconds}s`, body }) as const;

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

interface Definition extends KubeObject {
  readonly spec?: {
    readonly group?: string;
    readonly scope?: string;
    readonly names?: { readonly kind?: string };
    readonly versions?: readonly { readonly name: string; readonly served?: boolean; readonly storage?: boolean }[];
    readonly conversion?: {
      readonly strategy?: string;
      readonly webhook?: Partial<Pick<AdmissionWebhook, "clientConfig">> & {
        readonly conversionReviewVersions?: readonly string[];
      };
    };
  };
}

export async function listConversions(api: KubeApi, signal: AbortSignal): Promise<Rehearsal[]> {
  try {
    const { items } = await api.list<Definition>(collectionPath("CustomResourceDefinition"), { signal });
    return items.filter(({ spec }) => spec?.conversion?.strategy === "Webhook").map(conversionRehearsal);
  } catch (reason) {
    // A kube-apiserver may be without this API, and then nothing is converted.
    if (isNotFound(reason)) return [];
    throw reason;
  }
}

/** The timeout of a kube-apiserver for such a webhook; it cannot be configured. */
const CONVERSION_SECONDS = 30;

function conversionRehearsal({ metadata, spec = {} }: Definition): Rehearsal {
  const { clientConfig = {}, conversionReviewVersions = [] } = spec.conversion?.webhook ?? {};
  const { group = "", names = {}, scope, versions = [] } = spec;
  const name = metadata?.name ?? "";
  // From the stored version to another one that is served.
  const stored = versions.find(({ storage }) => storage === true) ?? versions[0];
  const other = versions.find((version) => version !== stored && version.served === true) ?? stored;
  const [from, to] = [stored?.name ?? "", other?.name ?? ""];
  return {
    ...{ id: `conversion:${name}`, about: `Conversion webhook of ${name}`, names: [name], target: clientConfig },
    ...(from === to && { unneeded: `${name} has no second version that is served, so nothing is converted` }),
    details: { customResourceDefinition: name, from, to },
    // There is no failurePolicy here: what cannot be converted cannot be read.
    consequence: `requests for ${name} in ${to} would be refused, and namespaces that hold such objects could not be deleted`,
    blocks: true,
    async perform(service, { call }) {
      const field = `CustomResourceDefinition ${name} spec.conversion.webhook`;
      const version = reviewVersion("ConversionReview", conversionReviewVersions, `${field}.conversionReviewVersions`);
      const converted = { apiVersion: `${group}/${from}`, kind: names.kind ?? "", namespaced: scope === "Namespaced" };
      const request = conversionReview(version, converted, `${group}/${to}`);
      const { address, reply, timing, took, totalMs } = await call({
        ...{ caBundle: clientConfig.caBundle ?? "", authority: `${field}.clientConfig.caBundle` },
        timeoutMs: CONVERSION_SECONDS * 1000,
        late: [`${CONVERSION_SECONDS} s`, `Find out why it is slow: read the log of ${podsOf(service)}.`],
        request: post(service, CONVERSION_SECONDS, request.review.body),
      });
      const objection = readConversion(request, reply!, service);
      const what = `${group}/${from} to ${to}`;
      // An empty object lacks the fields of a real one, so a refusal proves as well that the webhook answers.
      const refusal = `refuses an empty object from ${what} ("${plainText(objection ?? "", 200)}")`;
      const answer = objection === undefined ? `converts ${what}` : refusal;
      return {
        message: `${address} ${answer} after ${took} of ${CONVERSION_SECONDS} s`,
        details: { ...timing, totalMs, called: true, converted: objection === undefined },
      };
    },
  };
}

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
