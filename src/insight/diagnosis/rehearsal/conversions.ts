/** The conversion webhooks of a cluster, each as a call that the kube-apiserver could make now. */
import { plainText } from "../../../base/text.js";
import { isNotFound } from "../../../cluster/kube/errors.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import type { Rehearsal } from "./rehearsal.js";
import { conversionReview, readConversion, reviewVersion } from "./review.js";
import { podsOf } from "./service-call.js";
import type { AdmissionWebhook } from "./webhooks.js";

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
    return items.flatMap(rehearsalOf);
  } catch (reason) {
    // A kube-apiserver may be without this API, and then nothing is converted.
    if (isNotFound(reason)) return [];
    throw reason;
  }
}

/** The timeout of a kube-apiserver for such a webhook; it cannot be configured. */
const TIMEOUT_SECONDS = 30;

function rehearsalOf({ metadata, spec = {} }: Definition): Rehearsal[] {
  if (spec.conversion?.strategy !== "Webhook") return [];
  const { clientConfig = {}, conversionReviewVersions = [] } = spec.conversion.webhook ?? {};
  const { group = "", versions = [] } = spec;
  const name = metadata?.name ?? "";
  // From the stored version to another one that is served.
  const stored = versions.find(({ storage }) => storage === true) ?? versions[0];
  const other = versions.find((version) => version !== stored && version.served === true) ?? stored;
  const [from, to] = [stored?.name ?? "", other?.name ?? ""];
  return [
    {
      ...{ id: `conversion:${name}`, about: `Conversion webhook of ${name}`, names: [name], target: clientConfig },
      ...(from === to && { unneeded: `${name} has no second version that is served, so nothing is converted` }),
      details: { customResourceDefinition: name, from, to },
      // There is no failurePolicy here: what cannot be converted cannot be read.
      consequence: `requests for ${name} in ${to} would be refused, and namespaces that hold such objects could not be deleted`,
      blocks: true,
      async perform(service, { call }) {
        const field = `CustomResourceDefinition ${name} spec.conversion.webhook`;
        const version = reviewVersion(
          "ConversionReview",
          conversionReviewVersions,
          `${field}.conversionReviewVersions`,
        );
        const kind = {
          apiVersion: `${group}/${from}`,
          kind: spec.names?.kind ?? "",
          namespaced: spec.scope === "Namespaced",
        };
        const request = conversionReview(version, kind, `${group}/${to}`);
        const { address, reply, timing, took, totalMs } = await call({
          ...{ caBundle: clientConfig.caBundle ?? "", authority: `${field}.clientConfig.caBundle` },
          timeoutMs: TIMEOUT_SECONDS * 1000,
          late: [`${TIMEOUT_SECONDS} s`, `Find out why it is slow: read the log of ${podsOf(service)}.`],
          request: {
            method: "POST",
            path: `${service.path ?? "/"}?timeout=${TIMEOUT_SECONDS}s`,
            body: request.review.body,
          },
        });
        const objection = readConversion(request, reply!, service);
        const what = `${group}/${from} to ${to}`;
        // An empty object lacks the fields of a real one, so a refusal proves as well that the webhook answers.
        const answer =
          objection === undefined
            ? `converts ${what}`
            : `refuses an empty object from ${what} ("${plainText(objection, 200)}")`;
        return {
          message: `${address} ${answer} after ${took} of ${TIMEOUT_SECONDS} s`,
          details: { ...timing, totalMs, called: true, converted: objection === undefined },
        };
      },
    },
  ];
}
