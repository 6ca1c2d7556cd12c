/** One HTTPS request through the tunnel, trusted exactly as far as a kube-apiserver would trust the answer. */
import { type IncomingMessage, request } from "node:http";
import { checkServerIdentity, connect, type PeerCertificate, type TLSSocket } from "node:tls";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { CheckFailure } from "../../../base/finding.js";
import { dialThrough, type Frontend } from "../../../tunnel/client/index.js";
import { certificateBlocks } from "../../../tunnel/pki/pem.js";
import type { KubeApi } from "../../kube/port.js";
import { type Resolution, resolveService, type ServiceReference } from "./service.js";

/** How the kube-apiserver reaches services of its cluster. */
export interface ServiceRoute {
  readonly frontend: Frontend;
  readonly resolve: Resolution;
  /** Namespace of the agents, for remedies. */
  readonly namespace: string;
}

export interface ServiceCall {
  readonly service: ServiceReference;
  /** Base64 of PEM, as in the API; empty: the system's authorities. */
  readonly caBundle: string;
  /** The field that holds the caBundle, e.g. `spec.caBundle of APIService x`. */
  readonly authority: string;
  /** Aggregated APIs may ask for this. */
  readonly unverified?: boolean;
  /** As the kube-apiserver gives it, dialling included. */
  readonly timeoutMs: number;
  /** Given when the time is over. */
  late(address: string): CheckFailure;
  /** Undefined: connect only. */
  readonly request: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: string } | undefined;
}

export interface Reply {
  readonly status: number;
  readonly body: string;
}

export interface CallResult {
  readonly address: string;
  readonly dialMs: number;
  readonly tlsMs: number;
  readonly totalMs: number;
  /** Undefined when only connected. */
  readonly reply: Reply | undefined;
}

export const seconds = (ms: number): string => (ms < 1000 ? `${ms} ms` : `${(ms / 1000).toFixed(1)} s`);

/** For remedies. */
export const podsOf = ({ namespace, name }: ServiceReference): string => `the pods of service ${namespace}/${name}`;
export const lookAtAgents = (namespace: string): string =>
  `kubectl -n ${namespace} get pods -l app=konnectivity-agent -o wide`;

/** Rejects with a CheckFailure, with what the Kubernetes API answered, or with the signal's reason. */
export async function callService(
  route: ServiceRoute,
  api: KubeApi,
  call: ServiceCall,
  signal: AbortSignal,
): Promise<CallResult> {
  const address = await resolveService(api, call.service, route.resolve, signal);
  const limit = AbortSignal.timeout(call.timeoutMs);
  try {
    return await callAddress(route, address, call, AbortSignal.any([signal, limit]));
  } catch (reason) {
    throw limit.aborted ? call.late(address) : reason;
  }
}

async function callAddress(
  route: ServiceRoute,
  address: string,
  call: ServiceCall,
  signal: AbortSignal,
): Promise<CallResult> {
  const ca = authorityOf(call);
  const began = performance.now();
  const tunnel = await dialThrough(route.frontend, address, { signal }).catch((reason) => {
    throw dialFailure(route, call, reason);
  });
  const dialled = performance.now();
  const socket = await secured(tunnel, ca, call, signal);
  const connected = performance.now();
  const reply = call.request === undefined ? undefined : await exchange(socket, call, signal);
  socket.destroy();
  const [dialMs, tlsMs, totalMs] = [dialled - began, connected - dialled, performance.now() - began].map(Math.round);
  return { address, dialMs: dialMs!, tlsMs: tlsMs!, totalMs: totalMs!, reply };
}

function authorityOf({ caBundle, authority }: ServiceCall): string[] | undefined {
  if (caBundle === "") return undefined;
  const found = certificateBlocks(Buffer.from(caBundle, "base64").toString("latin1"));
  if (found.length > 0) return found.map(({ text }) => text);
  throw new CheckFailure(
    "its caBundle holds no PEM certificate",
    `Put PEM certificates, base64-encoded once, into ${authority}.`,
  );
}

async function secured(
  tunnel: Awaited<ReturnType<typeof dialThrough>>,
  ca: string[] | undefined,
  call: ServiceCall,
  signal: AbortSignal,
): Promise<TLSSocket> {
  tunnel.on("error", () => {});
  const socket = connect({
    socket: tunnel,
    ...(ca === undefined ? {} : { ca }),
    servername: hostOf(call),
    minVersion: "TLSv1.2",
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: call.unverified !== true,
    // Go trusts every certificate of a bundle as it is, also one that signed itself and no other.
    allowPartialTrustChain: true,
    checkServerIdentity: identify,
  });
  try {
    await new Promise<void>((resolve, reject) => {
      const stop = (): void => reject(signal.reason);
      if (signal.aborted) stop();
      signal.addEventListener("abort", stop);
      socket.on("error", reject);
      socket.once("secureConnect", resolve);
      socket.once("close", () => reject(new Error("the connection was closed")));
      socket.once("close", () => signal.removeEventListener("abort", stop));
    });
    return socket;
  } catch (reason) {
    socket.destroy();
    tunnel.destroy();
    throw signal.aborted ? reason : tlsFailure(call, reason);
  }
}

const hostOf = ({ service }: ServiceCall): string => `${service.name}.${service.namespace}.svc`;

/** Node still looks at the common name where no DNS name is given; Go does not. */
function identify(host: string, certificate: PeerCertificate): Error | undefined {
  if (certificate.subjectaltname?.includes("DNS:")) return checkServerIdentity(host, certificate);
  const reason = "it has no DNS name, and the common name does not count";
  return Object.assign(new Error(reason), { code: "ERR_TLS_CERT_ALTNAME_INVALID", reason });
}

/** As much as a kube-apiserver would read from a webhook, and more than any needs. */
const LARGEST_REPLY = 3 * 1024 * 1024;

async function exchange(socket: TLSSocket, call: ServiceCall, signal: AbortSignal): Promise<Reply> {
  const { method, path, body } = call.request!;
  const headers = {
    host: `${hostOf(call)}:${call.service.port ?? 443}`,
    accept: "application/json",
    "user-agent": "drawbridge",
    ...(body === undefined ? {} : { "content-type": "application/json", "content-length": Buffer.byteLength(body) }),
  };
  try {
    return await new Promise<Reply>((resolve, reject) => {
      const sent = request({ createConnection: () => socket, method, path, headers });
      const stop = (): void => {
        reject(signal.reason);
        sent.destroy();
      };
      if (signal.aborted) return stop();
      signal.addEventListener("abort", stop, { once: true });
      sent.on("error", reject);
      sent.once("response", (response) => {
        readReply(response).then(resolve, reject);
      });
      sent.once("close", () => signal.removeEventListener("abort", stop));
      sent.end(body);
    });
  } catch (reason) {
    socket.destroy();
    const remedy = `Read the log of ${podsOf(call.service)}.`;
    throw new CheckFailure(`it took the call and gave no answer: ${messageOf(reason)}`, remedy);
  }
}

async function readReply(response: IncomingMessage): Promise<Reply> {
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > LARGEST_REPLY) throw new Error(`its answer is longer than ${LARGEST_REPLY / 1024 / 1024} MiB`);
  }
  return { status: response.statusCode ?? 0, body: Buffer.concat(chunks).toString("utf8") };
}

function dialFailure({ namespace: ofAgents }: ServiceRoute, { service }: ServiceCall, reason: unknown): CheckFailure {
  const { namespace, name } = service;
  const endpoints = `kubectl -n ${namespace} get endpointslices -l kubernetes.io/service-name=${name}`;
  const agents = lookAtAgents(ofAgents);
  const remedies: Readonly<Record<string, string>> = {
    DB_NO_AGENT: `Start the agents: ${agents}.`,
    DB_AGENT_LOST: `Run it again; if it fails again, read the agents' logs: ${agents}.`,
    DB_DIAL_FAILED: `Compare targetPort and readiness of the service's pods (${endpoints}) with where they listen.`,
    DB_DIAL_TIMEOUT: `Let the agents' pods reach it: look for a NetworkPolicy in ${namespace} and for stale addresses (${endpoints}).`,
    DB_FRONTEND:
      "Correct the frontend first: see the checks socket and server-protocol, or give it with --uds or --frontend.",
    DB_PEER_PROTOCOL: "Correct the frontend first: see the check server-protocol, or give --protocol.",
  };
  const isKnown = reason instanceof DrawbridgeError;
  const fallback = isKnown ? reason.remedy : `Read the agents' logs: ${agents}.`;
  return new CheckFailure(messageOf(reason), (isKnown ? remedies[reason.code] : undefined) ?? fallback);
}

const UNTRUSTED =
  /^(UNABLE_TO_VERIFY_LEAF_SIGNATURE|UNABLE_TO_GET_ISSUER_CERT(_LOCALLY)?|SELF_SIGNED_CERT_IN_CHAIN|DEPTH_ZERO_SELF_SIGNED_CERT|CERT_SIGNATURE_FAILURE|CERT_UNTRUSTED|INVALID_CA)$/;

function tlsFailure({ service, authority }: ServiceCall, reason: unknown): CheckFailure {
  const { namespace, name } = service;
  const { code = "", reason: words } = reason as { code?: string; reason?: string };
  const renew = `Issue the certificate of service ${namespace}/${name} again and restart its pods.`;
  if (UNTRUSTED.test(code)) {
    const remedy = `Put the certificate of the authority that signed it into ${authority}.`;
    return new CheckFailure(`its certificate is not one that its caBundle vouches for (${code})`, remedy);
  }
  if (code === "ERR_TLS_CERT_ALTNAME_INVALID") {
    const remedy = `Issue it with the DNS name ${name}.${namespace}.svc and restart the service's pods.`;
    return new CheckFailure(`its certificate is for another name: ${words ?? messageOf(reason)}`, remedy);
  }
  if (code === "CERT_HAS_EXPIRED") return new CheckFailure("its certificate has expired", renew);
  if (code === "CERT_NOT_YET_VALID") {
    const remedy = `Compare the clocks of this host and its node. ${renew}`;
    return new CheckFailure("its certificate is not valid yet", remedy);
  }
  const remedy = `See that the port of service ${namespace}/${name} speaks TLS, and read the log of its pods.`;
  return new CheckFailure(`the TLS handshake failed: ${words ?? messageOf(reason)}`, remedy);
}
