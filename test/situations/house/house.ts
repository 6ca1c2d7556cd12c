/** A real proxy-server and a real proxy-agent in this process, over loopback with mTLS, and what a test does with them. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ProxyAgent } from "../../../src/tunnel/agent/agent.js";
import type { AgentConfig } from "../../../src/tunnel/agent/config.js";
import { DEFAULT_LIMITS } from "../../../src/tunnel/connection/budget.js";
import { systemClock } from "../../../src/tunnel/connection/clock.js";
import type { Resolver } from "../../../src/tunnel/resolver/resolver.js";
import type { ListenerConfig, ServerConfig } from "../../../src/tunnel/server/config.js";
import { ProxyServer, type ServerParts } from "../../../src/tunnel/server/server.js";
import { waitUntil } from "../../support/processes/deadline.js";
import { freePorts } from "../../support/processes/ports.js";
import { type HousePki, makeHousePki } from "./pki.js";

export interface House {
  readonly dir: string;
  readonly pki: HousePki;
  readonly server: ProxyServer;
  /** The first agent; undefined in a house without one. */
  readonly agent: ProxyAgent;
  readonly agentPort: number;
  readonly connectPort: number;
  readonly connectPath: string;
  readonly grpcPath: string;
  /** One more agent that tries to connect. */
  launchAgent(overrides?: Partial<AgentConfig>): ProxyAgent;
  /** One more agent, connected when this resolves. */
  addAgent(overrides?: Partial<AgentConfig>): Promise<ProxyAgent>;
  close(): Promise<void>;
}

export interface HousePlan {
  readonly agents?: number;
  readonly timeBoxed?: boolean;
  /** False: a token is enough. */
  readonly agentsShowCertificates?: boolean;
  readonly server?: Partial<ServerConfig>;
  readonly parts?: ServerParts;
  readonly agent?: Partial<AgentConfig>;
  /** The agents' own; undefined: each by the system's files. */
  readonly resolver?: Resolver;
}

const NO_ADMIN = { host: "127.0.0.1", port: 0, tokenFile: "", profiling: false };
const NO_KUBE = { kubeconfig: "", qps: 5, burst: 10 };

export async function openHouse({
  agents = 1,
  timeBoxed = false,
  agentsShowCertificates = true,
  server: serverPlan = {},
  parts = {},
  agent: agentPlan = {},
  resolver,
}: HousePlan = {}): Promise<House> {
  const dir = mkdtempSync(join(tmpdir(), "drawbridge-house-"));
  const pki = await makeHousePki(dir);
  const [agentPort, connectPort] = (await freePorts(2)) as [number, number];
  const connectPath = join(dir, "connect.sock");
  const grpcPath = join(dir, "grpc.sock");
  const tls = { ...pki.server, clientCaFile: pki.caFile };
  const agentTls = agentsShowCertificates ? tls : { ...tls, clientCaFile: "" };
  const uds = (mode: ListenerConfig["mode"], path: string): ListenerConfig => ({
    mode,
    transport: "uds",
    path,
    deleteExisting: true,
    fileMode: 0o770,
  });
  const config: ServerConfig = {
    serverId: "house",
    serverCount: 1,
    listeners: [
      uds("http-connect", connectPath),
      uds("grpc", grpcPath),
      { mode: "http-connect", transport: "tcp", host: "127.0.0.1", port: connectPort, tls },
    ],
    agents: {
      host: "127.0.0.1",
      port: agentPort,
      tls: agentTls,
      allowUnauthenticated: false,
      timeBoxed,
      claimsFile: "",
    },
    tlsPolicy: { minVersion: "TLSv1.2", cipherSuites: [] },
    health: { host: "127.0.0.1", port: 0 },
    admin: NO_ADMIN,
    strategies: ["default"],
    keepaliveMs: 3_600_000,
    frontendKeepaliveMs: 3_600_000,
    dialTimeoutMs: 30_000,
    gracefulShutdownMs: 0,
    xfrChannelSize: 10,
    kube: NO_KUBE,
    limits: DEFAULT_LIMITS,
    ...serverPlan,
  };
  const server = new ProxyServer(config, parts);
  const running: ProxyAgent[] = [];
  const launchAgent = (overrides: Partial<AgentConfig> = {}): ProxyAgent => {
    const config: AgentConfig = {
      agentId: `agent-${running.length + 1}`,
      identifiers: "",
      servers: [{ host: "127.0.0.1", port: agentPort }],
      tls: { caFile: pki.caFile, ...pki.client, alpn: [] },
      tokenFile: "",
      health: { host: "127.0.0.1", port: 0 },
      admin: NO_ADMIN,
      syncIntervalMs: 50,
      syncIntervalCapMs: 500,
      probeIntervalMs: 1_000,
      keepaliveMs: 3_600_000,
      syncForever: false,
      serverCountSource: "default",
      kube: NO_KUBE,
      xfrChannelSize: 150,
      warnOnChannelLimit: false,
      headerTimeoutMs: 5_000,
      drainTimeoutMs: 0,
      timeBoxed: false,
      allow: [],
      deny: [],
      limits: DEFAULT_LIMITS,
      ...agentPlan,
      ...overrides,
    };
    const agent = new ProxyAgent(config, systemClock, "drawbridge", resolver);
    agent.start();
    running.push(agent);
    return agent;
  };
  const addAgent = async (overrides: Partial<AgentConfig> = {}): Promise<ProxyAgent> => {
    const known = server.board.registry.size;
    const agent = launchAgent(overrides);
    await waitUntil("the agent to be connected", () => server.board.registry.size > known);
    return agent;
  };
  await server.start();
  for (let each = 0; each < agents; each++) await addAgent();
  return {
    dir,
    pki,
    server,
    agent: running[0]!,
    agentPort,
    connectPort,
    connectPath,
    grpcPath,
    launchAgent,
    addAgent,
    async close() {
      await Promise.all(running.map((agent) => agent.stop()));
      server.destroy();
      rmSync(dir, { recursive: true, force: true });
    },
  };
}
