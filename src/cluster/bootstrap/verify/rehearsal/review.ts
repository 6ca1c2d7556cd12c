/** The AdmissionReview of a rehearsal, and what its answer is worth. */
import { randomUUID } from "node:crypto";
import { CheckFailure } from "../../../../base/check.js";
import type { Reply } from "./exchange.js";
import type { Subject } from "./subject.js";

export interface Review {
  readonly apiVersion: string;
  readonly uid: string;
  readonly body: string;
}

/** The versions a kube-apiserver can write; webhooks say which they read, in their order. */
const spoken = ["v1", "v1beta1"];

export function reviewVersion(accepted: readonly string[] = ["v1beta1"]): string | undefined {
  return accepted.find((version) => spoken.includes(version));
}

const NAME = "drawbridge-rehearsal";

/** Always a dry run: a webhook that says it has no side effects then keeps its word. */
export function makeReview(version: string, subject: Subject): Review {
  const { group, version: objectVersion, kind, resource, operation, subResource, namespaced } = subject;
  const apiVersion = `admission.k8s.io/${version}`;
  const uid = randomUUID();
  const namespace = namespaced ? { namespace: "default" } : {};
  const groupVersionKind = { group, version: objectVersion, kind };
  const groupVersionResource = { group, version: objectVersion, resource };
  const object = {
    apiVersion: group === "" ? objectVersion : `${group}/${objectVersion}`,
    kind,
    metadata: { name: NAME, ...namespace, uid: randomUUID(), creationTimestamp: new Date().toISOString() },
  };
  const request = {
    uid,
    kind: groupVersionKind,
    resource: groupVersionResource,
    ...(subResource === "" ? {} : { subResource }),
    requestKind: groupVersionKind,
    requestResource: groupVersionResource,
    name: NAME,
    ...namespace,
    operation,
    userInfo: { username: "system:admin", groups: ["system:masters", "system:authenticated"] },
    object: operation === "DELETE" ? null : object,
    oldObject: operation === "UPDATE" || operation === "DELETE" ? object : null,
    dryRun: true,
    options: null,
  };
  return { apiVersion, uid, body: JSON.stringify({ kind: "AdmissionReview", apiVersion, request }) };
}

export interface Verdict {
  readonly allowed: boolean;
  readonly message: string;
}

/** Throws a CheckFailure where a kube-apiserver would count the call as failed. */
export function readVerdict({ apiVersion, uid }: Review, { status, body }: Reply, who: string): Verdict {
  const log = `Read the log of ${who}: it must answer a POST with an AdmissionReview of ${apiVersion}.`;
  if (status !== 200) throw new CheckFailure(`it answers with HTTP status ${status}`, log);
  const answer = parsed(body);
  if (answer?.kind !== "AdmissionReview") throw new CheckFailure("its answer is no AdmissionReview", log);
  if (answer.apiVersion !== apiVersion)
    throw new CheckFailure(`its answer is of version ${answer.apiVersion}, not ${apiVersion}`, log);
  const { response } = answer;
  if (response?.uid !== uid) throw new CheckFailure("its answer is about another request (response.uid)", log);
  if (typeof response.allowed !== "boolean") throw new CheckFailure("its answer does not say response.allowed", log);
  return { allowed: response.allowed, message: String(response.status?.message ?? "") };
}

interface Answer {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly response?: {
    readonly uid?: string;
    readonly allowed?: unknown;
    readonly status?: { readonly message?: unknown };
  };
}

function parsed(body: string): Answer | undefined {
  try {
    const value: unknown = JSON.parse(body);
    return typeof value === "object" && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}
