/** One HTTPS request to a service through the tunnel, trusted exactly as far as a kube-apiserver would trust the answer. */
import { createSecureContext, type TLSSocket } from "node:tls";
import { joinHostPort } from "../../../base/address.js";
import { DrawbridgeError, messageOf, reasonOf } from "../../../base/errors/error.js";
import { CheckFailure } from "../../../base/finding.js";
import { answerBody, type HttpAnswer, openRequest } from "../../../base/http-get.js";
import { isNotFound } from "../../../cluster/kube/errors.js";
import { find } from "../../../cluster/kube/objects.js";
import { collectionPath, namedPath } from "../../../cluster/kube/paths.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { dialThrough, type Frontend, type TunnelSocket } from "../../../tunnel/client/index.js";
import { DialFailure, type DialFailureCode, explainPeer } from "../../../tunnel/outgoing/explain.js";
import { secure } from "../../../tunnel/outgoing/secure.js";
import { certificateBlocks, isFor } from "../../../tunnel/pki/pem.js";

/** How the kube-apiserver reaches services of its cluster. */
export interface ServiceRoute {
  readonly frontend: Frontend;
  /** Whether services are dialled at their endpoints or at their cluster address. */
  readonly resolve: "endpoints" | "cluster-ip";
  /** Namespace of the agents, for remedies. */
  readonly namespace: string;
}

export interface ServiceReference {
  readonly namespace: string;
  readonly name: string;
  /** Default 443. */
  readonly port?: number;
  readonly path?: string;
}

export interface ServiceCall {
  /** Base64 of PEM, as in the API; empty: the system's authorities. */
  readonly caBundle: string;
  /** The field that holds the caBundle, e.g. `spec.caBundle of APIService x`. */
  readonly authority: string;
  /** Aggregated APIs may ask for this. */
  readonly unverified?: boolean;
  /** As the kube-apiserver gives it, dialling included. */
  readonly timeoutMs: number;
  /** How that time is named when it is over, and what to do then. */
  readonly late: readonly [limit: string, remedy: string];
  /** Undefined: connect only. */
  readonly request: { readonly method: "GET" | "POST"; readonly path: string; readonly body?: string } | undefined;
}

export type CallResult = Awaited<ReturnType<typeof callService>>;

/** For remedies. */
export const podsOf = ({ namespace, name }: ServiceReference): string => `the pods of service ${namespace}/${name}`;
export const lookAtAgents = (namespace: string): string =>
  `kubectl -n ${namespace} get pods -l app=konnectivity-agent -o wide`;

/** Rejects with a CheckFailure, with what the Kubernetes API answered, or with the signal's reason. */
export async function callService(
  route: ServiceRoute,
  api: KubeApi,
  service: ServiceReference,
  call: ServiceCall,
  signal: AbortSignal,
) {
  const address = await resolveService(api, service, route.resolve, signal);
  const limit = AbortSignal.timeout(call.timeoutMs);
  const stop = AbortSignal.any([signal, limit]);
  try {
    const set = authorityOf(call);
    const began = performance.now();
    const tunnel = await dialThrough(route.frontend, address, { signal: stop, redialMs: 0 }).catch((reason) => {
      throw dialFailure(route, service, reason);
    });
    const dialled = performance.now();
    const socket = await secured({ socket: tunnel, where: address }, set, service, call, stop);
    const securedAt = performance.now();
    try {
      const reply = call.request && (await exchange(socket, service, call.request, stop));
      const totalMs = Math.round(performance.now() - began);
      const timing = { dialMs: Math.round(dialled - began), tlsMs: Math.round(securedAt - dialled) };
      // For people: seconds where they are many.
      const took = totalMs < 1000 ? `${totalMs} ms` : `${(totalMs / 1000).toFixed(1)} s`;
      return { address, took, totalMs, timing: { dialled: address, ...timing }, reply };
    } finally {
      socket.destroy();
    }
  } catch (reason) {
    if (!limit.aborted) throw reason;
    const [time, remedy] = call.late;
    throw new CheckFailure(`no answer within ${time} from ${address}`, remedy);
  }
}

function authorityOf({ caBundle, authority }: ServiceCall): { readonly ca?: string } {
  if (caBundle === "") return {};
  const found = certificateBlocks(Buffer.from(caBundle, "base64").toString("latin1"));
  if (found.length > 0) return { ca: found.map(({ text }) => text).join("") };
  throw new CheckFailure(
    "its caBundle holds no PEM certificate",
    `Put PEM certificates, base64-encoded once, into ${authority}.`,
  );
}

const hostOf = ({ namespace, name }: ServiceReference): string => `${name}.${namespace}.svc`;

async function secured(
  tunnel: { readonly socket: TunnelSocket; readonly where: string },
  set: { readonly ca?: string },
  service: ServiceReference,
  call: ServiceCall,
  stop: AbortSignal,
): Promise<TLSSocket> {
  const { unverified: isUnverified = false } = call;
  const name = hostOf(service);
  // Go trusts every certificate of a bundle as it is, also one that signed itself and no other.
  const context = createSecureContext({ ...set, minVersion: "TLSv1.2", allowPartialTrustChain: true });
  const credentials = () => ({ self: "this client", set, caFile: "its caBundle", admittedBy: "authorities" });
  tunnel.socket.on("error", () => {});
  try {
    const dial = { ...tunnel, name, context, alpn: ["http/1.1"], isUnverified, credentials };
    const { socket, facts } = await secure(dial, stop);
    const [leaf] = facts().peer;
    if (isUnverified || leaf === undefined || isFor(leaf, name)) return socket;
    // Node still looks at the common name where no DNS name is given; Go does not.
    socket.destroy();
    throw explainPeer("ERR_TLS_CERT_ALTNAME_INVALID", facts());
  } catch (reason) {
    throw reason instanceof DialFailure ? tlsFailure(service, call, reason) : reason;
  }
}

/** As much as a kube-apiserver would read from a webhook, and more than any needs. */
const LARGEST_REPLY = 3 * 1024 * 1024;

async function exchange(
  socket: TLSSocket,
  service: ServiceReference,
  { method, path, body }: NonNullable<ServiceCall["request"]>,
  signal: AbortSignal,
): Promise<HttpAnswer> {
  const host = `${hostOf(service)}:${service.port ?? 443}`;
  const type = body === undefined ? {} : { "content-type": "application/json" };
  const headers = { host, accept: "application/json", "user-agent": "drawbridge", ...type };
  try {
    const options = { createConnection: () => socket, method, headers, signal };
    const response = await openRequest(`https://${host}${path}`, options, body);
    return { status: response.statusCode ?? 0, body: (await answerBody(response, LARGEST_REPLY)).toString() };
  } catch (reason) {
    const remedy = `Read the log of ${podsOf(service)}.`;
    throw new CheckFailure(`it took the call and gave no answer: ${messageOf(reason)}`, remedy);
  }
}

function dialFailure({ namespace: ofAgents }: ServiceRoute, { namespace, name }: ServiceReference, reason: unknown) {
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

function tlsFailure(service: ServiceReference, { authority }: ServiceCall, failure: DialFailure): CheckFailure {
  const which = `service ${service.namespace}/${service.name}`;
  const renew = `Issue the certificate of ${which} again and restart its pods.`;
  const remedies: Partial<Record<DialFailureCode, string>> = {
    DB_TLS_UNKNOWN_CA: `Put the certificate of the authority that signed it into ${authority}.`,
    DB_TLS_SERVER_NAME: `Issue it with the DNS name ${hostOf(service)} and restart the service's pods.`,
    DB_TLS_SERVER_EXPIRED: renew,
    DB_TLS_CA_EXPIRED: `Renew the authority that signed it and put it into ${authority}. ${renew}`,
    DB_TLS_SERVER_USE: renew,
    DB_TLS_SERVER_CHAIN: renew,
    DB_TLS_CLOCK: `Compare the clocks of this host and its node. ${renew}`,
  };
  const fallback = `See that the port of ${which} speaks TLS, and read the log of its pods.`;
  return new CheckFailure(reasonOf(failure), remedies[failure.code as DialFailureCode] ?? fallback);
}

interface ServicePort {
  readonly name?: string;
  readonly port: number;
}

interface Service extends KubeObject {
  readonly spec?: {
    readonly type?: string;
    readonly clusterIP?: string;
    readonly externalName?: string;
    readonly ports?: readonly ServicePort[];
  };
}

/** `host:port`, as a kube-apiserver would dial it. Throws a CheckFailure when it would find nothing to dial. */
async function resolveService(
  api: KubeApi,
  reference: ServiceReference,
  resolution: ServiceRoute["resolve"],
  signal: AbortSignal,
): Promise<string> {
  const { namespace, name, port: wanted = 443 } = reference;
  const which = `service ${namespace}/${name}`;
  const service = await find<Service>(api, namedPath("Service", reference), { signal });
  if (service === undefined)
    throw new CheckFailure(`${which} does not exist`, "Create it, or remove the configuration that names it.");
  const { type = "ClusterIP", clusterIP = "", externalName = "", ports = [] } = service.spec ?? {};
  if (type === "ExternalName") {
    if (resolution === "cluster-ip") return joinHostPort(externalName, wanted);
    const message = `${which} is of type ExternalName, which a kube-apiserver that dials endpoints refuses`;
    throw new CheckFailure(message, "Give it a service with endpoints: --enable-aggregator-routing knows no other.");
  }
  const port = ports.find((candidate) => candidate.port === wanted);
  if (port === undefined) {
    const has = ports.map((candidate) => candidate.port).join(", ") || "none";
    const remedy = `Correct the port in the configuration or in ${which}.`;
    throw new CheckFailure(`${which} has no port ${wanted} (it has ${has})`, remedy);
  }
  if (resolution === "cluster-ip") {
    if (clusterIP !== "" && clusterIP !== "None") return joinHostPort(clusterIP, wanted);
    const remedy = "Give it a cluster address, or start the kube-apiserver with --enable-aggregator-routing=true.";
    throw new CheckFailure(`${which} has no cluster address to dial`, remedy);
  }
  const [address] = await endpointsOf(api, reference, port, signal);
  if (address !== undefined) return address;
  const remedy = `Start its pods: kubectl -n ${namespace} get endpointslices,pods and the selector of ${which} show which are missing.`;
  throw new CheckFailure(`${which} has no ready endpoint`, remedy);
}

interface EndpointSlice extends KubeObject {
  readonly addressType?: string;
  readonly ports?: readonly Partial<ServicePort>[] | null;
  readonly endpoints?:
    | readonly { readonly addresses: readonly string[]; readonly conditions?: { readonly ready?: boolean } }[]
    | null;
}

interface Endpoints extends KubeObject {
  readonly subsets?: readonly {
    readonly addresses?: readonly { readonly ip: string }[];
    readonly ports?: readonly ServicePort[];
  }[];
}

async function endpointsOf(
  api: KubeApi,
  service: ServiceReference,
  port: ServicePort,
  signal: AbortSignal,
): Promise<string[]> {
  const has = (candidate: { readonly name?: string }): boolean => (candidate.name ?? "") === (port.name ?? "");
  try {
    const options = { labelSelector: `kubernetes.io/service-name=${service.name}`, signal };
    const slices = await api.list<EndpointSlice>(collectionPath("EndpointSlice", service.namespace), options);
    return slices.items.flatMap(({ addressType, ports, endpoints }) => {
      const number = ports?.find(has)?.port;
      if (addressType === "FQDN" || number === undefined) return [];
      const ready = (endpoints ?? []).filter(({ conditions }) => conditions?.ready !== false);
      return ready.flatMap(({ addresses }) => addresses.slice(0, 1).map((host) => joinHostPort(host, number)));
    });
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
  // Clusters before 1.21 have no slices of this version.
  const { subsets = [] } = await api.get<Endpoints>(namedPath("Endpoints", service), { signal });
  return subsets.flatMap(({ addresses = [], ports = [] }) => {
    const number = ports.find(has)?.port;
    return number === undefined ? [] : addresses.map(({ ip }) => joinHostPort(ip, number));
  });
}
