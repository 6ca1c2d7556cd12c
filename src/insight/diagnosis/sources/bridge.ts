/** The facts of a bridge, gathered on the host of its server and from its cluster. */
import { existsSync } from "node:fs";
import { joinHostPort } from "../../../base/address.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { CheckFailure } from "../../../base/finding.js";
import { httpGet } from "../../../base/http-get.js";
import { samplesOf } from "../../../base/metrics/samples.js";
import { AGENT_NAME, pkiFile } from "../../../cluster/bootstrap/model/names.js";
import { textAt } from "../../../cluster/bootstrap/settings/programs.js";
import { readMetrics } from "../../../cluster/bootstrap/test-webhook/prove.js";
import { collectionPath } from "../../../cluster/kube/paths.js";
import { type ConditionedObject, isReady, type Pod } from "../../../cluster/kube/pods.js";
import type { KubeApi, KubeObject } from "../../../cluster/kube/port.js";
import { describeFrontend } from "../../../tunnel/client/frontend.js";
import { DialRefusedError, dialThrough, type Frontend } from "../../../tunnel/client/index.js";
import type { Bridge } from "../bridge.js";
import { type FactSource, type Gatherer, unavailable } from "../check.js";
import type { Facts } from "../facts.js";
import { dialTls } from "../host/handshake.js";
import { socketFile } from "../host/this-host.js";
import { PROGRAMS } from "../programs.js";

/** An API to ask, or why there is none; neither without a kubeconfig. */
export type BridgeApi =
  | { readonly api: KubeApi; readonly kubeconfig: string }
  | { readonly api: undefined; readonly problem: string | undefined };

const API_REMEDY =
  "Give a kubeconfig of this host's kube-apiserver that may read nodes and webhooks with --kubeconfig.";

/** The facts that can be gathered from everywhere. */
export function bridgeClusterSource(bridge: Bridge, access: BridgeApi): FactSource {
  const { namespace, address, agentPort } = bridge;
  const withApi =
    <T>(read: (api: KubeApi, signal: AbortSignal) => Promise<T>) =>
    async ({ signal }: Gatherer): Promise<T> => {
      if (access.api === undefined) return unavailable("the cluster cannot be asked, see kubeconfig");
      // The check kubeconfig reports what is wrong with it.
      return read(access.api, signal).catch((reason) => unavailable(messageOf(reason)));
    };
  return {
    agentPlace: () => ({ namespace, dialled: joinHostPort(address ?? "this host", agentPort) }),
    async apiVersion({ signal }) {
      if (access.api === undefined) {
        if (access.problem === undefined) return unavailable("no kubeconfig was given", API_REMEDY);
        throw new CheckFailure(access.problem, API_REMEDY);
      }
      const options = { signal, timeoutMs: 10_000 };
      const { gitVersion: version = "of unknown version" } = await access.api
        .get<KubeObject & { gitVersion?: string }>("/version", options)
        .catch((reason) => {
          throw new CheckFailure(messageOf(reason), API_REMEDY);
        });
      return { server: access.kubeconfig, version };
    },
    nodes: withApi(async (api, signal) => {
      const { items } = await api.list<ConditionedObject>(collectionPath("Node"), { signal });
      return items.map((node) => ({ name: node.metadata?.name ?? "", isReady: isReady(node) }));
    }),
    agentPodsByNode: withApi(async (api, signal) => {
      const options = { labelSelector: `app=${AGENT_NAME}`, signal };
      const { items } = await api.list<Pod>(collectionPath("Pod", namespace), options);
      return new Map(
        items.toReversed().map((pod) => [pod.spec?.nodeName ?? "", { isReady: isReady(pod), state: stateOf(pod) }]),
      );
    }),
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
    now: () => new Date(),
    model: () => model,
    role: () => (model.for === "openshift" ? "bootstrap" : "server"),
    program: () => ({ kind: "server", title: PROGRAMS.server.title, running: undefined }),
    egress: () => egress,
    apiServer: () => apiServer,
    serverFlags: () => server ?? unavailable("the server's flags cannot be seen here"),
    health: async ({ signal }) => {
      const url = `${health}/readyz`;
      return { url, answer: await httpGet(url, { signal }).catch(messageOf) };
    },
    socket: async () => {
      if (!("uds" in frontend)) return unavailable(`the frontend is ${describeFrontend(frontend)}, not a Unix socket`);
      return { ...(await socketFile(frontend.uds)), directory: undefined, isExpected: true };
    },
    frontendAnswer: ({ signal }) => askFrontend(frontend, signal),
    async agentPort() {
      const file = pkiFile(pki.directory, "ca");
      const names = address === undefined ? [] : [address];
      return dialTls(address ?? "127.0.0.1", agentPort, "h2", names, { file, text: await textAt(file) });
    },
    certificates: () => inspectCertificates(bridge),
    connectedAgents: ({ signal }) => readMetrics(health, "is no proxy-server's", connectedAgents, signal),
  };
}

async function inspectCertificates({ pki, address }: Bridge): Promise<Facts["certificates"]> {
  const { directory, given } = pki;
  if (!existsSync(directory)) {
    const remedy = "Give the directory of ca.crt, server.crt and server.key with --pki.";
    if (given) throw new CheckFailure(`${directory} does not exist`, remedy);
    return unavailable(`${directory} does not exist here`, remedy);
  }
  const { inspectPath } = await import("../../../tunnel/pki/inspect/inspect.js");
  return inspectPath(directory, address === undefined ? {} : { address });
}

/** Where no agent finds a listener. */
const NOWHERE = "127.0.0.1:1";
const DIAL_MS = 5_000;

/** Without a failure it speaks the frontend's protocol. */
export async function askFrontend(frontend: Frontend, signal: AbortSignal) {
  const answer = { where: describeFrontend(frontend), mode: frontend.mode, failure: undefined };
  try {
    (await dialThrough(frontend, NOWHERE, { signal, timeoutMs: DIAL_MS })).destroy();
    return answer;
  } catch (reason) {
    // Any answer in the right protocol will do, also a refusal.
    if (reason instanceof DialRefusedError && reason.code !== "DB_PEER_PROTOCOL") return answer;
    if (reason instanceof DrawbridgeError && reason.code === "DB_AGENT_LOST") return answer;
    const { code = "" } = ((reason as Error).cause ?? {}) as NodeJS.ErrnoException;
    const isClosed = ["ENOENT", "ECONNREFUSED", "EACCES", "EHOSTUNREACH", "ETIMEDOUT"].includes(code);
    return { ...answer, failure: { message: messageOf(reason), isClosed } };
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
