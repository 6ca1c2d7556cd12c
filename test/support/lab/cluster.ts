import { type ControlPlane, makeControlPlane } from "./control-plane.js";
import { controlPlaneExecutables, underTest } from "./equipment.js";
import { type Frontend, writeEgressConfig } from "./frontends.js";
import { ProxyAgent } from "./proxy-agent.js";
import { ProxyServer } from "./proxy-server.js";
import { Scope } from "./scope.js";
import { address, makeTopology, type Place, type Topology } from "./topology.js";
import { makeTunnelCertificates } from "./tunnel-certificates.js";
import { until } from "./wait.js";

const SERVER_PORTS = { frontend: 8090, agents: 8091, health: 8092, admin: 8095 };
const AGENT_PORTS = { health: 8093, admin: 8094 };

/** A tunnel across the topology: the server beside the control plane, agents where the pod network is. */
export interface Crossing {
  readonly topology: Topology;
  readonly server: ProxyServer;
  /** One on n1 in the host's network, one behind n2 in the pod network. */
  readonly agents: readonly [ProxyAgent, ProxyAgent];
}

/** The addresses under which the webhook can see the two agents. */
export const AGENT_SOURCES: readonly string[] = [address.n1Pods, address.ag];

export async function makeCrossing(scope: Scope): Promise<Crossing> {
  const topology = await makeTopology(scope);
  const certificates = makeTunnelCertificates(scope, address.bs);
  const server = new ProxyServer(scope, {
    name: "proxy-server",
    executable: underTest("proxy-server"),
    netns: topology.bs,
    host: address.bs,
    ports: SERVER_PORTS,
    certificates,
    flags: [`--cluster-ca-cert=${certificates.ca.cert}`],
  });
  const agentIn = (place: Place) =>
    new ProxyAgent(scope, {
      name: `proxy-agent-${place}`,
      executable: underTest("proxy-agent"),
      netns: topology[place],
      caFile: certificates.ca.cert,
      serverHost: address.bs,
      serverPort: SERVER_PORTS.agents,
      ports: AGENT_PORTS,
      flags: [`--agent-cert=${certificates.agent.cert}`, `--agent-key=${certificates.agent.key}`],
    });
  return { topology, server, agents: [agentIn("n1"), agentIn("ag")] };
}

export interface Cluster extends Crossing, ControlPlane {
  readonly scope: Scope;
  /** Starts server, agents and kube-apiserver so that cluster traffic takes this way. */
  connect(frontend: Frontend): Promise<void>;
}

/** The crossing with a real control plane on its near side. */
export async function makeCluster(options: { readonly admitServiceAccounts?: boolean } = {}): Promise<Cluster> {
  const scope = new Scope("cluster");
  try {
    const crossing = await makeCrossing(scope);
    const controlPlane = await makeControlPlane(scope, {
      executables: controlPlaneExecutables(),
      netns: crossing.topology.bs,
      host: address.bs,
      ...options,
    });
    const connect = async (frontend: Frontend) => {
      const { server, agents } = crossing;
      const egress = writeEgressConfig(scope.file("egress.json"), frontend, server.frontend);
      await Promise.all([server.start(frontend), controlPlane.apiServer.start(egress)]);
      await Promise.all(agents.map((agent) => agent.start()));
      await until("both agents to be connected", 60_000, () => allReady(agents));
    };
    return { ...crossing, ...controlPlane, scope, connect };
  } catch (error) {
    await scope.close();
    throw error;
  }
}

export async function allReady(agents: readonly ProxyAgent[]): Promise<boolean> {
  const ready = await Promise.all(agents.map((agent) => agent.isReady()));
  return ready.every(Boolean);
}
