/** The bridge to verify: as flags describe it, completed from the files and processes of this host. */
import { type BridgeModel, bridgeModel } from "../../cluster/bootstrap/model/model.js";
import type { Topology } from "../../cluster/bootstrap/model/names.js";
import { type EgressReading, readEgress } from "../../cluster/bootstrap/settings/egress-config.js";
import {
  type ApiServerSettings,
  apiServerSettings,
  type CommandLine,
  type Processes,
  serverSettings,
} from "../../cluster/bootstrap/settings/programs.js";
import type { KubeApi } from "../../cluster/kube/port.js";
import type { Frontend, FrontendProtocol, FrontendTls } from "../../tunnel/client/index.js";
import { detectTopology } from "./programs.js";
import type { ServiceRoute } from "./rehearsal/service-call.js";

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
  const model = given.recorded ?? bridgeModel({ for: given.topology ?? detectTopology() });
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
  const { readPkiManifest: readManifest } = await import("../../tunnel/pki/manifest.js");
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
