/** Certificate signing requests as the API has them, and the two signers that kubelets ask. */

import { DrawbridgeError } from "../../../base/errors/error.js";
import { factsOf } from "../../../tunnel/pki/inspect/facts.js";
import { inspectRequest } from "../../../tunnel/pki/inspect-request.js";
import { leafIn } from "../../../tunnel/pki/pem.js";
import { collectionPath } from "../../kube/paths.js";
import type { ConditionedObject } from "../../kube/pods.js";
import type { KubeObject } from "../../kube/port.js";
import type { Metadata } from "../objects.js";
import { canonicalNames } from "./memory.js";

export const CLIENT_SIGNER = "kubernetes.io/kube-apiserver-client-kubelet";
export const SERVING_SIGNER = "kubernetes.io/kubelet-serving";
export const NODE_USER_PREFIX = "system:node:";

export interface SigningRequest extends KubeObject {
  readonly metadata?: Metadata;
  readonly spec?: {
    /** Base64 of PEM. */
    readonly request?: string;
    readonly signerName?: string;
    readonly usages?: readonly string[];
    readonly username?: string;
    readonly groups?: readonly string[];
  };
  readonly status?: ConditionedObject["status"] & { readonly certificate?: string };
}

/** Client: the first certificate, asked for with the credential all machines share. Renewal and serving: asked for by the node. */
export type RequestKind = "client" | "renewal" | "serving";

/** Undefined for other signers. */
export function kindOf({ spec }: SigningRequest): RequestKind | undefined {
  if (spec?.signerName === SERVING_SIGNER) return "serving";
  if (spec?.signerName !== CLIENT_SIGNER) return undefined;
  return spec.username?.startsWith(NODE_USER_PREFIX) ? "renewal" : "client";
}

/** A pending request of a signer that is not a kubelet's: it is listed, and never decided here. */
export type ForeignRequest = NonNullable<ReturnType<typeof foreignRequestOf>>;

/** Users and common names with which the pods of a node's network ask for their own certificates. */
const POD_USER = /^system:(?:node|ovn-node|multus):(.+)$/;

/** Undefined for a kubelet's, and for one that somebody decided. */
export function foreignRequestOf(request: SigningRequest) {
  if (kindOf(request) !== undefined || outcomeOf(request) !== "pending") return undefined;
  const { signerName: signer = "", username: user = "" } = request.spec ?? {};
  const subject = commonNameIn(request);
  return {
    ...{ request: requestName(request), signer, user, subject, decider: deciderOf(signer, subject) },
    /** Empty when it is of no node. */
    node: (POD_USER.exec(subject) ?? POD_USER.exec(user))?.[1] ?? "",
  };
}

/** Empty when it has none, or cannot be read. */
function commonNameIn(request: SigningRequest): string {
  try {
    return inspectRequest(requestPem(request)).commonNames[0] ?? "";
  } catch {
    return "";
  }
}

/** As OpenShift's network operator arranges it; of other signers only the name is known. */
function deciderOf(signer: string, subject: string): string {
  if (signer === "network.openshift.io/signer") return "cluster-network-operator";
  const isNetworks = /^system:(ovn-node|multus):/.test(subject);
  if (signer === "kubernetes.io/kube-apiserver-client" && isNetworks) return "network-node-identity";
  return `whoever approves for ${signer || "no signer"}`;
}

/** `approved`, `denied` or `failed` once somebody decided. */
export function outcomeOf({ status }: SigningRequest): "pending" | "approved" | "denied" | "failed" {
  const types = (status?.conditions ?? []).map(({ type }) => type);
  if (types.includes("Denied")) return "denied";
  if (types.includes("Failed")) return "failed";
  return types.includes("Approved") || status?.certificate ? "approved" : "pending";
}

export function requestName({ metadata }: SigningRequest): string {
  return metadata?.name ?? "";
}

/** Identifies the request, also when another request gets its name later. */
export function requestUid({ metadata }: SigningRequest): string {
  return metadata?.uid ?? metadata?.name ?? "";
}

export function createdAt({ metadata }: SigningRequest): number {
  return Date.parse(metadata?.creationTimestamp ?? "");
}

/** The part of a common name behind `system:node:`; empty when it is no node's. */
export function nodeNameOf(commonName = ""): string {
  return commonName.startsWith(NODE_USER_PREFIX) ? commonName.slice(NODE_USER_PREFIX.length) : "";
}

/** Throws DB_CSR_REQUEST unless it is base64 as the API server writes it. */
export function requestPem({ spec }: SigningRequest): string {
  const { request = "" } = spec ?? {};
  const bytes = Buffer.from(request, "base64");
  if (bytes.toString("base64") === request) return bytes.toString("latin1");
  throw new DrawbridgeError("DB_CSR_REQUEST", "the certificate signing request cannot be read: it is not base64");
}

export const REQUESTS_PATH = collectionPath("CertificateSigningRequest");

export function requestPath(name: string): string {
  return `${REQUESTS_PATH}/${encodeURIComponent(name)}`;
}

type DecidedCondition = Readonly<Record<"type" | "reason" | "message" | "lastUpdateTime", string>>;

/** The request with one more condition, for the approval subresource. The API refuses a second decision. */
export function decided(request: SigningRequest, condition: DecidedCondition): SigningRequest {
  if (outcomeOf(request) !== "pending") {
    throw new DrawbridgeError("DB_CSR_REQUEST", `${requestName(request)} is ${outcomeOf(request)} already`);
  }
  const conditions = [...(request.status?.conditions ?? []), { ...condition, status: "True" }];
  return { ...request, status: { ...request.status, conditions } };
}

/** The certificate that was issued for a serving request; undefined while there is none, and for one that is no node's. */
export function issuedServing({ spec, status }: SigningRequest) {
  if (spec?.signerName !== SERVING_SIGNER || !status?.certificate) return undefined;
  try {
    const certificate = leafIn(Buffer.from(status.certificate, "base64").toString("latin1"));
    const node = nodeNameOf(/^CN=(.*)$/m.exec(certificate.subject)?.[1]);
    const { names, notAfter } = factsOf(certificate);
    return node === "" ? undefined : { node, names: canonicalNames(names), until: notAfter.getTime() };
  } catch {
    // Whose certificate cannot be read counts as one whose end is not known.
    return undefined;
  }
}
