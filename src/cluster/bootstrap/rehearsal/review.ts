/** The AdmissionReview or ConversionReview of a rehearsal, and its answer, read as strictly as a kube-apiserver reads it. */
import { randomUUID } from "node:crypto";
import { CheckFailure } from "../../../base/finding.js";
import { podsOf, type Reply } from "./call.js";
import type { Conversion } from "./conversions.js";
import type { ServiceReference } from "./service.js";
import type { AdmissionSubject } from "./webhooks.js";

export interface SentReview {
  readonly kind: "AdmissionReview" | "ConversionReview";
  readonly apiVersion: string;
  readonly uid: string;
  readonly body: string;
}

/** The versions a kube-apiserver can write; webhooks list those they read, in their order. */
export function reviewVersion(accepted: readonly string[]): string | undefined {
  return accepted.find((version) => version === "v1" || version === "v1beta1");
}

const NAME = "drawbridge-rehearsal";

/** An object with nothing in it but its name: what is stored in the cluster stays private. */
function emptyObject(apiVersion: string, kind: string, namespaced: boolean) {
  const namespace = namespaced ? { namespace: "default" } : {};
  const metadata = { name: NAME, ...namespace, uid: randomUUID(), creationTimestamp: new Date().toISOString() };
  return { apiVersion, kind, metadata };
}

function sent(
  kind: SentReview["kind"],
  apiVersion: string,
  request: { uid: string; [field: string]: unknown },
): SentReview {
  return { kind, apiVersion, uid: request.uid, body: JSON.stringify({ kind, apiVersion, request }) };
}

/** Always a dry run: a webhook without side effects on dry runs does nothing. */
export function admissionReview(version: string, subject: AdmissionSubject): SentReview {
  const { group, version: objectVersion, kind, resource, operation, subResource, namespaced } = subject;
  const object = emptyObject(group === "" ? objectVersion : `${group}/${objectVersion}`, kind, namespaced);
  const groupVersionKind = { group, version: objectVersion, kind };
  const groupVersionResource = { group, version: objectVersion, resource };
  return sent("AdmissionReview", `admission.k8s.io/${version}`, {
    uid: randomUUID(),
    ...{ kind: groupVersionKind, resource: groupVersionResource },
    ...(subResource === "" ? {} : { subResource }),
    ...{ requestKind: groupVersionKind, requestResource: groupVersionResource },
    ...{ name: NAME, ...(namespaced ? { namespace: "default" } : {}), operation },
    userInfo: { username: "system:admin", groups: ["system:masters", "system:authenticated"] },
    object: operation === "DELETE" ? null : object,
    oldObject: operation === "UPDATE" || operation === "DELETE" ? object : null,
    ...{ dryRun: true, options: null },
  });
}

/** Throws a CheckFailure where a kube-apiserver would count the call as failed. */
export function readAdmission(
  review: SentReview,
  reply: Reply,
  service: ServiceReference,
): { readonly allowed: boolean; readonly message: string } {
  const response = responseTo(review, reply, service);
  if (typeof response.allowed !== "boolean") throw misread(review, service, "its answer does not say response.allowed");
  return { allowed: response.allowed, message: String(response.status?.message ?? "") };
}

export interface ConversionRequest {
  readonly review: SentReview;
  readonly to: string;
  readonly object: ConvertedObject;
}

interface ConvertedObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export function conversionReview(version: string, conversion: Conversion): ConversionRequest {
  const { group, kind, namespaced, from, to } = conversion;
  const object = emptyObject(`${group}/${from}`, kind, namespaced);
  const request = { uid: randomUUID(), desiredAPIVersion: `${group}/${to}`, objects: [object] };
  const review = sent("ConversionReview", `apiextensions.k8s.io/${version}`, request);
  return { review, to: request.desiredAPIVersion, object };
}

/** What the webhook objects to, in its own words; undefined when it converted. Throws a CheckFailure as readAdmission does. */
export function readConversion(
  { review, to, object }: ConversionRequest,
  reply: Reply,
  service: ServiceReference,
): string | undefined {
  const { result, convertedObjects } = responseTo(review, reply, service);
  if (result?.status === "Failure") return String(result.message ?? "");
  const wrong = (evidence: string): CheckFailure => misread(review, service, evidence);
  if (result?.status !== "Success") throw wrong("its answer does not say response.result.status");
  const list = Array.isArray(convertedObjects) ? (convertedObjects as readonly (ConvertedObject | null)[]) : [];
  const [first] = list;
  if (list.length !== 1 || first == null) throw wrong(`it gives back ${list.length} objects for one`);
  if (first.apiVersion !== to) throw wrong(`it gives back ${String(first.apiVersion)} where ${to} was asked for`);
  if (first.kind !== object.kind) throw wrong(`it gives back another kind, ${String(first.kind)}`);
  for (const name of ["name", "namespace", "uid"]) {
    if ((first.metadata?.[name] ?? "") !== (object.metadata?.[name] ?? ""))
      throw wrong(`it changes metadata.${name}, which a conversion may not`);
  }
  return undefined;
}

interface ReviewAnswer {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly response?: {
    readonly uid?: string;
    readonly allowed?: unknown;
    readonly status?: { readonly message?: unknown };
    readonly convertedObjects?: unknown;
    readonly result?: { readonly status?: unknown; readonly message?: unknown };
  };
}

function responseTo(review: SentReview, { status, body }: Reply, service: ServiceReference) {
  const wrong = (evidence: string): CheckFailure => misread(review, service, evidence);
  if (status !== 200) throw wrong(`it answers with HTTP status ${status}`);
  const answer = parsed(body);
  if (answer?.kind !== review.kind) throw wrong(`its answer is no ${review.kind}`);
  if (answer.apiVersion !== review.apiVersion)
    throw wrong(`its answer is of version ${answer.apiVersion}, not ${review.apiVersion}`);
  if (answer.response?.uid !== review.uid) throw wrong("its answer is about another request (response.uid)");
  return answer.response;
}

function misread({ kind, apiVersion }: SentReview, service: ServiceReference, evidence: string): CheckFailure {
  const remedy = `Read the log of ${podsOf(service)}: it must answer a POST with ${kind.startsWith("A") ? "an" : "a"} ${kind} of ${apiVersion}.`;
  return new CheckFailure(evidence, remedy);
}

function parsed(body: string): ReviewAnswer | undefined {
  try {
    return (JSON.parse(body) as ReviewAnswer | null) ?? undefined;
  } catch {
    return undefined;
  }
}
