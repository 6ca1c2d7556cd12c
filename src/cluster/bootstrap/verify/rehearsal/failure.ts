/** Why a call through the tunnel failed, in words that lead somewhere. */
import { CheckFailure } from "../../../../base/check.js";
import { DrawbridgeError, messageOf } from "../../../../base/errors/error.js";
import { type Bridge, lookAtAgents } from "../bridge.js";

/** Somebody who is called through the tunnel. */
export interface Callee {
  readonly namespace: string;
  readonly service: string;
  /** Where its authority stands, e.g. `webhooks[0].clientConfig.caBundle of ValidatingWebhookConfiguration x`. */
  readonly authority: string;
}

export function dialFailure(bridge: Bridge, { namespace, service }: Callee, reason: unknown): CheckFailure {
  const endpoints = `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${service}`;
  const code = reason instanceof DrawbridgeError ? reason.code : undefined;
  const remedies: Readonly<Record<string, string>> = {
    DB_NO_AGENT: `Bring the agents up: ${lookAtAgents(bridge)}.`,
    DB_AGENT_LOST: `Run it again; if it stays, read the agents' logs: ${lookAtAgents(bridge)}.`,
    DB_DIAL_FAILED: `Compare targetPort and readiness of the service's pods (${endpoints}) with where they listen.`,
    DB_DIAL_TIMEOUT: `Let the agents' pods reach it: look for a NetworkPolicy in ${namespace} and for dead addresses (${endpoints}).`,
    DB_FRONTEND:
      "Mend the front door first: see the checks socket and front-door, or give it with --uds or --frontend.",
    DB_PEER_PROTOCOL: "Mend the front door first: see the check front-door, or give --protocol.",
  };
  const fallback =
    reason instanceof DrawbridgeError ? reason.remedy : `Read the agents' logs: ${lookAtAgents(bridge)}.`;
  return new CheckFailure(messageOf(reason), remedies[code ?? ""] ?? fallback);
}

const untrusted = new Set([
  "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
  "UNABLE_TO_GET_ISSUER_CERT_LOCALLY",
  "UNABLE_TO_GET_ISSUER_CERT",
  "SELF_SIGNED_CERT_IN_CHAIN",
  "DEPTH_ZERO_SELF_SIGNED_CERT",
  "CERT_SIGNATURE_FAILURE",
  "CERT_UNTRUSTED",
  "INVALID_CA",
]);

export function tlsFailure({ namespace, service, authority }: Callee, reason: unknown): CheckFailure {
  const { code = "", reason: words } = reason as { code?: string; reason?: string };
  const renew = `Issue the certificate of service ${namespace}/${service} anew and restart its pods.`;
  if (untrusted.has(code)) {
    const remedy = `Put the certificate of the authority that signed it into ${authority}.`;
    return new CheckFailure(`its certificate is not one that its caBundle vouches for (${code})`, remedy);
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const remedy = `Issue it with the DNS name ${service}.${namespace}.svc and restart the service's pods.`;
    return new CheckFailure(`its certificate is for another name: ${words ?? messageOf(reason)}`, remedy);
  }
  if (code === "CERT_HAS_EXPIRED") return new CheckFailure("its certificate has expired", renew);
  if (code === "CERT_NOT_YET_VALID") {
    return new CheckFailure(
      "its certificate is not valid yet",
      `Compare the clocks of this host and its node. ${renew}`,
    );
  }
  const remedy = `See that the port of service ${namespace}/${service} speaks TLS, and read the log of its pods.`;
  return new CheckFailure(`the TLS handshake failed: ${words ?? messageOf(reason)}`, remedy);
}
