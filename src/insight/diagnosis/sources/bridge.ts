/** The facts of a bridge, gathered on the host of its server and from its cluster. */
import { existsSync } from "node:fs";
import { joinHostPort } from "../../../base/address.js";
import { causeFields, DrawbridgeError, messageOf, reasonOf } from "../../../base/errors/error.js";
import { CheckFailure } from "../../../base/finding.js";
import { httpGet } from "../../../base/http-get.js";
import { samplesOf } from "../../../base/metrics/samples.js";
import { type BridgeModel, bridgeModel } from "../../../cluster/bootstrap/model/model.js";
import { AGENT_NAME, pkiFile, type Topology } from "../../../cluster/bootstrap/model/names.js";
import { type EgressReading, readEgress } from "../../../cluster/bootstrap/settings/egress-config.js";
import {
  type ApiServerSettings,
  apiServerSettings,
  type CommandLine,
  type Processes,
  serverSettings,
} from "../../../cluster/bootstrap/settings/programs.js";
import { readMetrics } from "../../../cluster/bootstrap/test-webhook/prove.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import { type ConditionedObject, isReady, type Pod } from "../../../cluster/kube/pods.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { describeFrontend } from "../../../tunnel/client/frontend.js";
import {
  DialRefusedError,
  dialThrough,
  type Frontend,
  type FrontendProtocol,
  type FrontendTls,
} from "../../../tunnel/client/index.js";
import { type FactSource, type Gatherer, unavailable } from "../check.js";
import type { Facts } from "../facts.js";
import { dialByDirectory } from "../host/as-agent.js";
import { readSocketFile } from "../host/this-host.js";
import { dialableHost, PROGRAMS, startOf, topologyOfThisHost } from "../programs.js";
import type { ServiceRoute } from "../rehearsal/service-call.js";
import { readRemains } from "./remains.js";

/** An API to ask, or why there is none; neither without a kubeconfig. */
export type BridgeApi =
  | { readonly api: KubeApi; readonly kubeconfig: string }
  | { readonly api: undefined; readonly problem: string | undefined };

const API_REMEDY =
  "Give a kubeconfig of this host's kube-apiserver that may read nodes and webhooks with --kubeconfig.";

/** Rejects with a CheckFailure when the API does not answer. */
export async function readVersion(facts: Gatherer): Promise<Facts["apiVersion"]> {
  const { api, server } = await facts.get("cluster");
  try {
    const options = { signal: facts.signal, timeoutMs: 10_000 };
    const { gitVersion = "of unknown version" } = await api.get<KubeObject & { gitVersion?: string }>(
      "/version",
      options,
    );
    return { server, version: gitVersion };
  } catch (reason) {
    throw apiFailure(reason);
  }
}

export function apiFailure(reason: unknown): CheckFailure {
  const { remedy = "Check server and credentials with kubectl --kubeconfig FILE version." } = causeFields(reason);
  return new CheckFailure(reasonOf(reason), remedy);
}

/** The facts that can be gathered from everywhere. */
export function bridgeClusterSource({ address, agentPort, namespace }: Bridge, access: BridgeApi): FactSource {
  const list = async <T extends KubeObject>(
    facts: Gatherer,
    path: string,
    labelSelector = "",
  ): Promise<readonly T[]> => {
    // The check kubeconfig reports what is wrong with it.
    const { api } = await facts.get("cluster").catch(() => unavailable("the cluster cannot be asked, see kubeconfig"));
    const options = { signal: facts.signal, ...(labelSelector && { labelSelector }) };
    return (await api.list<T>(path, options).catch((reason) => unavailable(messageOf(reason)))).items;
  };
  return {
    now: () => new Date(),
    agentPlace: () => ({ namespace, dialled: joinHostPort(address ?? "this host", agentPort) }),
    cluster() {
      if (access.api !== undefined) return { api: access.api, server: access.kubeconfig };
      if (access.problem === undefined) return unavailable("no kubeconfig was given", API_REMEDY);
      throw new CheckFailure(access.problem, API_REMEDY);
    },
    apiVersion: readVersion,
    bridgeRemains: readRemains,
    async nodes(facts) {
      const nodes = await list<ConditionedObject>(facts, collectionPath("Node"));
      return nodes.map((node) => ({ name: node.metadata?.name ?? "", isReady: isReady(node) }));
    },
    async agentPodsByNode(facts) {
      const pods = await list<Pod>(facts, collectionPath("Pod", namespace), `app=${AGENT_NAME}`);
      return new Map(
        pods.toReversed().map((pod) => [pod.spec?.nodeName ?? "", { isReady: isReady(pod), state: stateOf(pod) }]),
      );
    },
  };
}

function stateOf(pod: Pod): string {
  if (isReady(pod)) return "its agent is ready, but not at this server";
  const { phase = "Unknown", containerStatuses = [] } = pod.status ?? {};
  const reason = containerStatuses.map(({ state }) => state?.waiting?.reason).find((word) => word !== undefined);
  if (reason === undefined && phase === "Running") return `${pod.metadata?.name} runs but is not connected`;
  return `${pod.metadata?.name} is ${reason ?? phase}`;
}

/** The same, and the facts that only the server's own host has. */
export function bridgeSource(bridge: Bridge, access: BridgeApi): FactSource {
  const { address, agentPort, apiServer, egress, frontend, health, model, pki, server } = bridge;
  return {
    ...bridgeClusterSource(bridge, access),
    model: () => model,
    role: () => (model.for === "openshift" ? "bootstrap" : "server"),
    program: () => ({
      kind: "server",
      title: PROGRAMS.server.title,
      running: undefined,
      start: startOf("server", true),
    }),
    egress: () => egress,
    apiServer: () => apiServer,
    serverFlags: () => server ?? unavailable("the server's flags cannot be seen here"),
    health: async ({ signal }) => {
      const url = `${health}/readyz`;
      return { url, answer: await httpGet(url, { signal }).catch(messageOf) };
    },
    socket: async () => {
      if (!("uds" in frontend)) return unavailable(`the frontend is ${describeFrontend(frontend)}, not a Unix socket`);
      return { ...(await readSocketFile(frontend.uds)), directory: undefined, isExpected: true };
    },
    frontendAnswer: ({ signal }) => askFrontend(frontend, signal),
    agentPorts: () => {
      const host = address ?? dialableHost(server?.flags.get("agent-bind-address") ?? "");
      const file = pkiFile(pki.directory, "serverCert");
      const ownFile = existsSync(file) ? file : undefined;
      const dialled = { host, port: agentPort, isName: address !== undefined };
      return dialByDirectory({ directory: pki.directory, ownFile, ...dialled });
    },
    certificates: () => inspectDirectory(pki, address, new Date()),
    connectedAgents: ({ signal }) => readMetrics(health, "is no proxy-server's", connectedAgents, signal),
  };
}

/** The certificates of a directory, judged for an address at a time. */
export async function inspectDirectory(
  pki: Bridge["pki"],
  address: string | undefined,
  now: Date,
): Promise<Facts["certificates"]> {
  const { directory, given } = pki;
  if (!existsSync(directory)) {
    const remedy = "Name the directory of ca.crt, server.crt and server.key with --pki.";
    if (given) throw new CheckFailure(`${directory} does not exist`, remedy);
    return unavailable(`${directory} does not exist here`, remedy);
  }
  const { inspectPath } = await import("../../../tunnel/pki/inspect/inspect.js");
  return inspectPath(directory, { now, ...(address && { address }) });
}

/** Where no agent finds a listener. */
const NOWHERE = "127.0.0.1:1";
const DIAL_MS = 5_000;

/** Without a failure it speaks the frontend's protocol. */
export async function askFrontend(frontend: Frontend, signal: AbortSignal) {
  const answer = { where: describeFrontend(frontend), mode: frontend.mode, failure: undefined };
  try {
    (await dialThrough(frontend, NOWHERE, { signal, timeoutMs: DIAL_MS, redialMs: 0 })).destroy();
    return answer;
  } catch (reason) {
    // Any answer in the right protocol will do, also a refusal.
    if (reason instanceof DialRefusedError && reason.code !== "DB_PEER_PROTOCOL") return answer;
    if (reason instanceof DrawbridgeError && reason.code === "DB_AGENT_LOST") return answer;
    const { code = "" } = ((reason as Error).cause ?? {}) as NodeJS.ErrnoException;
    const isClosed = ["ENOENT", "ECONNREFUSED", "EACCES", "EHOSTUNREACH", "ETIMEDOUT"].includes(code);
    return { ...answer, failure: { message: reasonOf(reason), isClosed } };
  }
}

const METRIC = "konnectivity_network_proxy_server_";

/** Undefined when the page is no proxy-server's, ours or upstream's. Only our own server names its agents (`ids`). */
export function connectedAgents(page: string) {
  const connections = samplesOf(page, `${METRIC}ready_backend_connections`)[0]?.value;
  const backends = samplesOf(page, `${METRIC}ready_backends`).map(({ value }) => value);
  const count = connections ?? (backends.length === 0 ? undefined : Math.max(...backends));
  if (count === undefined) return undefined;
  const ids = samplesOf(page, "drawbridge_server_agent_tunnels").map(({ labels }) => labels.get("agent_id") ?? "");
  // Without a single agent this family is empty on our server, too.
  return { count, ids: ids.length === 0 && count > 0 ? undefined : ids };
}

/** A bridge as flags describe it. What is empty or undefined is found on the host. */
export interface BridgeDescription {
  /** As `up` recorded it on this host; it has the settings that no flag gives. */
  readonly recorded?: BridgeModel | undefined;
  readonly topology: Topology | undefined;
  readonly uds: string;
  readonly frontend: { readonly host: string; readonly port: number; readonly tls: FrontendTls } | undefined;
  readonly protocol: FrontendProtocol | undefined;
  /** E.g. `http://127.0.0.1:2041`. */
  readonly health: string;
  /** Where agents dial the server. */
  readonly address: string;
  readonly agentPort: number;
  readonly pki: string;
  readonly egressConfig: string;
  readonly namespace: string;
  readonly resolve: ServiceRoute["resolve"] | undefined;
}

export type Bridge = Awaited<ReturnType<typeof describeBridge>>;

export async function describeBridge(
  given: BridgeDescription,
  processes: Processes,
  api: KubeApi | undefined,
  signal: AbortSignal,
) {
  const model = given.recorded ?? bridgeModel({ for: given.topology ?? topologyOfThisHost() });
  const { paths } = model;
  const egressConfig = given.egressConfig || paths.egressConfig.host;
  const egress = await readEgress(egressConfig);
  const sockets = [given.uds, paths.socket.server, egress.state === "read" ? (egress.cluster.uds ?? "") : ""];
  const named = sockets.filter((path) => path !== "");
  const server = await serverSettings(model, named, given.uds !== "", processes);
  const apiServer = await apiServerSettings(model, processes, api, signal);
  const directory = given.pki || paths.pki.host;
  const address: string | undefined =
    given.address || (given.recorded?.serverAddresses[0] ?? (await certifiedAddress(directory)));
  return {
    ...{ model, egress, server, apiServer, address },
    /** Of the agents. */
    namespace: given.namespace || model.namespace,
    frontend: frontendOf(given, model, egress, server),
    /** URL of the server's health port. */
    health: given.health || `http://127.0.0.1:${server?.flags.get("health-port") ?? model.ports.serverHealth}`,
    agentPort: given.agentPort || Number(server?.flags.get("agent-port") ?? model.ports.agent),
    pki: { directory, given: given.pki !== "" },
    /** How the kube-apiserver dials services. */
    resolve: given.resolve ?? resolution(model, apiServer),
  };
}

function frontendOf(
  given: BridgeDescription,
  { paths }: BridgeModel,
  egress: EgressReading,
  server: CommandLine | undefined,
): Frontend {
  const cluster = egress.state === "read" ? egress.cluster : undefined;
  const running = server?.flags.get("mode") === "http-connect" ? "http-connect" : "grpc";
  const mode =
    given.protocol ?? (cluster === undefined ? running : cluster.protocol === "GRPC" ? "grpc" : "http-connect");
  if (given.uds !== "") return { mode, uds: given.uds };
  if (given.frontend !== undefined) return { mode, ...given.frontend };
  if (cluster?.tcp !== undefined) {
    const { url, caFile, certFile, keyFile } = cluster.tcp;
    const { hostname, port } = new URL(url);
    return {
      mode,
      host: hostname.replace(/^\[|\]$/g, ""),
      port: Number(port) || 443,
      tls: { caFile, certFile, keyFile },
    };
  }
  const known = cluster?.uds === undefined || cluster.uds === paths.socket.apiServer;
  return { mode, uds: known ? paths.socket.host : cluster.uds! };
}

/** On an OpenShift bootstrap host agents dial the first address that the certificates were made for. */
async function certifiedAddress(pki: string): Promise<string | undefined> {
  const { readPkiManifest: readManifest } = await import("../../../tunnel/pki/manifest.js");
  const manifest = await readManifest(pki).catch(() => undefined);
  const server = manifest?.leaves.find(({ name }) => name === "server");
  return server?.ipAddresses?.[0];
}

/** OpenShift's kube-apiservers always route to endpoints; others only with --enable-aggregator-routing. */
function resolution({ for: topology }: BridgeModel, { running, manifest }: ApiServerSettings): ServiceRoute["resolve"] {
  const known = running ?? manifest;
  if (known === undefined) return topology === "openshift" ? "endpoints" : "cluster-ip";
  return known.flags.get("enable-aggregator-routing") === "true" ? "endpoints" : "cluster-ip";
}
