/** The ConversionReview of a rehearsal, and what its answer is worth. */
import { randomUUID } from "node:crypto";
import { CheckFailure } from "../../../../base/check.js";
import type { Conversion } from "./conversion-list.js";
import type { Reply } from "./exchange.js";

export interface ConversionReview {
  readonly apiVersion: string;
  readonly uid: string;
  /** `group/version` of what is sent and of what must come back. */
  readonly from: string;
  readonly to: string;
  readonly object: ConvertibleObject;
  readonly body: string;
}

interface ConvertibleObject {
  readonly apiVersion?: unknown;
  readonly kind?: unknown;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

/** The versions a kube-apiserver can write; webhooks say which they read, in their order. */
const spoken = ["v1", "v1beta1"];

export function conversionVersion(accepted: readonly string[] = []): string | undefined {
  return accepted.find((version) => spoken.includes(version));
}

/** An object with nothing in it but its name: what is stored in the cluster is nobody's business. */
export function makeConversion(version: string, { group, kind, namespaced, from, to }: Conversion): ConversionReview {
  const apiVersion = `apiextensions.k8s.io/${version}`;
  const uid = randomUUID();
  const metadata = {
    name: "drawbridge-rehearsal",
    ...(namespaced ? { namespace: "default" } : {}),
    uid: randomUUID(),
    creationTimestamp: new Date().toISOString(),
  };
  const object = { apiVersion: `${group}/${from}`, kind, metadata };
  const request = { uid, desiredAPIVersion: `${group}/${to}`, objects: [object] };
  const body = JSON.stringify({ kind: "ConversionReview", apiVersion, request });
  return { apiVersion, uid, from: object.apiVersion, to: request.desiredAPIVersion, object, body };
}

export interface ConversionVerdict {
  readonly converted: boolean;
  /** Why not, in the webhook's words. */
  readonly message: string;
}

/** Throws a CheckFailure where a kube-apiserver would not understand the answer. */
export function readConversion(review: ConversionReview, { status, body }: Reply, who: string): ConversionVerdict {
  const { apiVersion, uid } = review;
  const log = `Read the log of ${who}: it must answer a POST with a ConversionReview of ${apiVersion}.`;
  const wrong = (evidence: string): CheckFailure => new CheckFailure(evidence, log);
  if (status !== 200) throw wrong(`it answers with HTTP status ${status}`);
  const answer = parsed(body);
  if (answer?.kind !== "ConversionReview") throw wrong("its answer is no ConversionReview");
  if (answer.apiVersion !== apiVersion) throw wrong(`its answer is of version ${answer.apiVersion}, not ${apiVersion}`);
  const { response } = answer;
  if (response?.uid !== uid) throw wrong("its answer is about another request (response.uid)");
  if (response.result?.status !== "Success") {
    if (response.result?.status !== "Failure") throw wrong("its answer does not say response.result.status");
    return { converted: false, message: String(response.result.message ?? "") };
  }
  checkObjects(review, response.convertedObjects, wrong);
  return { converted: true, message: "" };
}

/** As strictly as a kube-apiserver: the same objects, in the version asked for, under the same names. */
function checkObjects({ to, object }: ConversionReview, objects: unknown, wrong: (evidence: string) => Error): void {
  const list = Array.isArray(objects) ? (objects as readonly (ConvertibleObject | null)[]) : [];
  const [first] = list;
  if (list.length !== 1 || first == null) throw wrong(`it gives back ${list.length} objects for one`);
  if (first.apiVersion !== to) throw wrong(`it gives back ${String(first.apiVersion)} where ${to} was asked for`);
  if (first.kind !== object.kind) throw wrong(`it gives back another kind, ${String(first.kind)}`);
  for (const name of ["name", "namespace", "uid"]) {
    if ((first.metadata?.[name] ?? "") !== (object.metadata?.[name] ?? ""))
      throw wrong(`it changes metadata.${name}, which a conversion may not`);
  }
}

interface Answer {
  readonly kind?: string;
  readonly apiVersion?: string;
  readonly response?: {
    readonly uid?: string;
    readonly convertedObjects?: unknown;
    readonly result?: { readonly status?: unknown; readonly message?: unknown };
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
