/** The AdmissionReview or ConversionReview of a rehearsal, and its answer, read as strictly as a kube-apiserver reads it. */
import { randomUUID } from "node:crypto";
import { at, jsonOf, listOf } from "../../../base/at.js";
import { CheckFailure } from "../../../base/finding.js";
import type { HttpAnswer } from "../../../base/http-get.js";
import { podsOf, type ServiceReference } from "./service-call.js";

type ReviewKind = "AdmissionReview" | "ConversionReview";
type SentReview = ReturnType<typeof sent>;

/** The version a kube-apiserver would write, of those that the webhook's `field` lists, in their order. */
export function reviewVersion(kind: ReviewKind, accepted: readonly string[], field: string): string {
  const version = accepted.find((one) => one === "v1" || one === "v1beta1");
  if (version !== undefined) return version;
  const message = `it reads no version of ${kind} that a kube-apiserver writes`;
  throw new CheckFailure(message, `Let ${field} contain v1.`);
}

const NAME = "drawbridge-rehearsal";

/** An object with nothing in it but its name: what is stored in the cluster stays private. */
function emptyObject(apiVersion: string, kind: string, namespaced: boolean) {
  const namespace = namespaced ? { namespace: "default" } : {};
  const metadata = { name: NAME, ...namespace, uid: randomUUID(), creationTimestamp: new Date().toISOString() };
  return { apiVersion, kind, metadata };
}

function sent(kind: ReviewKind, apiVersion: string, fields: object) {
  const uid = randomUUID();
  return { kind, apiVersion, uid, body: JSON.stringify({ kind, apiVersion, request: { uid, ...fields } }) };
}

/** The request of a rehearsal: a small object of a kind that the webhook asked to see. */
export interface AdmissionSubject
  extends Readonly<Record<"operation" | "group" | "version" | "resource" | "subResource" | "kind", string>> {
  readonly namespaced: boolean;
}

/** Always a dry run: a webhook without side effects on dry runs does nothing. */
export function admissionReview(reviewed: string, subject: AdmissionSubject): SentReview {
  const { group, version, kind, resource, operation, subResource, namespaced } = subject;
  const object = emptyObject(group === "" ? version : `${group}/${version}`, kind, namespaced);
  const groupVersionKind = { group, version, kind };
  const groupVersionResource = { group, version, resource };
  return sent("AdmissionReview", `admission.k8s.io/${reviewed}`, {
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
export function readAdmission(review: SentReview, reply: HttpAnswer, service: ServiceReference) {
  const response = responseTo(review, reply, service);
  const allowed = at(response, "allowed");
  if (typeof allowed !== "boolean") throw misread(review, service, "its answer does not say response.allowed");
  return { allowed, message: String(at(response, "status", "message") ?? "") };
}

export function conversionReview(
  version: string,
  from: { readonly apiVersion: string; readonly kind: string; readonly namespaced: boolean },
  to: string,
) {
  const object = emptyObject(from.apiVersion, from.kind, from.namespaced);
  const request = { desiredAPIVersion: to, objects: [object] };
  return { review: sent("ConversionReview", `apiextensions.k8s.io/${version}`, request), to, object };
}

/** What the webhook objects to, in its own words; undefined when it converted. Throws a CheckFailure as readAdmission does. */
export function readConversion(
  { review, to, object }: ReturnType<typeof conversionReview>,
  reply: HttpAnswer,
  service: ServiceReference,
): string | undefined {
  const response = responseTo(review, reply, service);
  const status = at(response, "result", "status");
  if (status === "Failure") return String(at(response, "result", "message") ?? "");
  const wrong = (evidence: string): CheckFailure => misread(review, service, evidence);
  if (status !== "Success") throw wrong("its answer does not say response.result.status");
  const list = listOf(at(response, "convertedObjects"));
  const [first] = list;
  if (list.length !== 1 || first == null) throw wrong(`it gives back ${list.length} objects for one`);
  const [apiVersion, kind] = [at(first, "apiVersion"), at(first, "kind")];
  if (apiVersion !== to) throw wrong(`it gives back ${String(apiVersion)} where ${to} was asked for`);
  if (kind !== object.kind) throw wrong(`it gives back another kind, ${String(kind)}`);
  for (const name of ["name", "namespace", "uid"]) {
    if ((at(first, "metadata", name) ?? "") !== (at(object, "metadata", name) ?? ""))
      throw wrong(`it changes metadata.${name}, which a conversion may not`);
  }
  return undefined;
}

function responseTo(review: SentReview, { status, body }: HttpAnswer, service: ServiceReference): unknown {
  const wrong = (evidence: string): CheckFailure => misread(review, service, evidence);
  if (status !== 200) throw wrong(`it answers with HTTP status ${status}`);
  const answer = jsonOf(body);
  if (at(answer, "kind") !== review.kind) throw wrong(`its answer is no ${review.kind}`);
  const apiVersion = at(answer, "apiVersion");
  if (apiVersion !== review.apiVersion) throw wrong(`its answer is of version ${apiVersion}, not ${review.apiVersion}`);
  const response = at(answer, "response");
  if (at(response, "uid") !== review.uid) throw wrong("its answer is about another request (response.uid)");
  return response;
}

function misread({ kind, apiVersion }: SentReview, service: ServiceReference, evidence: string): CheckFailure {
  const remedy = `Read the log of ${podsOf(service)}: it must answer a POST with ${kind.startsWith("A") ? "an" : "a"} ${kind} of ${apiVersion}.`;
  return new CheckFailure(evidence, remedy);
}
