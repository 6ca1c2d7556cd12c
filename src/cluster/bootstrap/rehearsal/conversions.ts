/** The conversion webhooks of a cluster, each as a call that the kube-apiserver could make now. */
import { CheckFailure } from "../../../base/finding.js";
import { plainText } from "../../../base/text.js";
import { isNotFound } from "../../kube/errors.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { podsOf, seconds } from "./call.js";
import type { PlannedCall, RehearsalPlan } from "./rehearsal.js";
import { conversionReview, readConversion, reviewVersion } from "./review.js";
import type { ServiceReference } from "./service.js";

export interface Conversion {
  /** Of the CustomResourceDefinition: `<plural>.<group>`. */
  readonly name: string;
  readonly group: string;
  readonly kind: string;
  readonly namespaced: boolean;
  /** The stored version, and another one that is served; the same when there is only one. */
  readonly from: string;
  readonly to: string;
  readonly clientConfig: { readonly url?: string; readonly service?: ServiceReference; readonly caBundle?: string };
  readonly reviewVersions: readonly string[];
}

interface Definition extends KubeObject {
  readonly spec?: {
    readonly group?: string;
    readonly scope?: string;
    readonly names?: { readonly kind?: string };
    readonly versions?: readonly { readonly name: string; readonly served?: boolean; readonly storage?: boolean }[];
    readonly conversion?: {
      readonly strategy?: string;
      readonly webhook?: {
        readonly clientConfig?: Conversion["clientConfig"];
        readonly conversionReviewVersions?: readonly string[];
      };
    };
  };
}

export async function listConversions(api: KubeApi, signal: AbortSignal): Promise<Conversion[]> {
  const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
  try {
    return (await api.list<Definition>(path, { signal })).items.flatMap(conversionOf);
  } catch (reason) {
    // A kube-apiserver may be without this API, and then nothing is converted.
    if (isNotFound(reason)) return [];
    throw reason;
  }
}

function conversionOf({ metadata, spec }: Definition): Conversion[] {
  if (spec?.conversion?.strategy !== "Webhook") return [];
  const { clientConfig = {}, conversionReviewVersions = [] } = spec.conversion.webhook ?? {};
  const versions = spec.versions ?? [];
  const stored = versions.find(({ storage }) => storage === true) ?? versions[0];
  const other = versions.find((version) => version !== stored && version.served === true) ?? stored;
  return [
    {
      ...{ name: metadata?.name ?? "", group: spec.group ?? "", kind: spec.names?.kind ?? "" },
      ...{ namespaced: spec.scope === "Namespaced", from: stored?.name ?? "", to: other?.name ?? "" },
      ...{ clientConfig, reviewVersions: conversionReviewVersions },
    },
  ];
}

/** What a kube-apiserver gives such a webhook; it cannot be configured. */
const TIMEOUT_SECONDS = 30;

export function planConversion(conversion: Conversion): RehearsalPlan {
  const { name, from, to } = conversion;
  return {
    id: `conversion:${name}`,
    title: `Conversion webhook of ${name}`,
    ...conversion.clientConfig,
    ...(from === to && { unneeded: `${name} has no second version that is served, so nothing is converted` }),
    details: { customResourceDefinition: name, from, to },
    // There is no failurePolicy here: what cannot be converted cannot be read.
    consequence: `requests for ${name} in ${to} would be refused, and namespaces that hold such objects could not be deleted`,
    blocks: true,
    prepare: async (service) => prepare(conversion, service),
  };
}

function prepare(conversion: Conversion, service: ServiceReference): PlannedCall {
  const field = `CustomResourceDefinition ${conversion.name} spec.conversion.webhook`;
  const version = reviewVersion(conversion.reviewVersions);
  if (version === undefined) {
    const remedy = `Let ${field}.conversionReviewVersions contain v1.`;
    throw new CheckFailure("it reads no version of ConversionReview that a kube-apiserver writes", remedy);
  }
  const request = conversionReview(version, conversion);
  const path = `${service.path ?? "/"}?timeout=${TIMEOUT_SECONDS}s`;
  return {
    caBundle: conversion.clientConfig.caBundle ?? "",
    authority: `${field}.clientConfig.caBundle`,
    timeoutMs: TIMEOUT_SECONDS * 1000,
    late: (address) =>
      new CheckFailure(
        `no answer from ${address} within ${TIMEOUT_SECONDS} s`,
        `Find out why it is slow: read the log of ${podsOf(service)}.`,
      ),
    request: { method: "POST", path, body: request.review.body },
    judge({ address, reply, totalMs }) {
      const objection = readConversion(request, reply!, service);
      const what = `${conversion.group}/${conversion.from} to ${conversion.to}`;
      // A made-up object has nothing of what a real one must have, so a refusal is an answer like another.
      const answer =
        objection === undefined
          ? `converts ${what}`
          : `refuses an empty object from ${what} ("${plainText(objection, 200)}")`;
      return {
        message: `${address} ${answer} after ${seconds(totalMs)} of ${TIMEOUT_SECONDS} s`,
        details: { totalMs, called: true, converted: objection === undefined },
      };
    },
  };
}
