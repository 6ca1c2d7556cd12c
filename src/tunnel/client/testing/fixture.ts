/** A proxy-server and a proxy-agent in this process, with every kind of frontend, for tests of what dials through. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { waitUntil } from "../../../../test/support/processes/deadline.js";
import { freePorts } from "../../../../test/support/processes/ports.js";
import { ProxyAgent } from "../../agent/agent.js";
import type { AgentConfig } from "../../agent/config.js";
import { DEFAULT_LIMITS } from "../../connection/budget.js";
import { createAuthority, issueCertificate } from "../../pki/issue.js";
import { writePem } from "../../pki/write-pki.js";
import type { ServerConfig } from "../../server/config.js";
import { ProxyServer } from "../../server/server.js";
import type { Frontend } from "../frontend.js";

const NOWHERE = { host: "127.0.0.1", port: 0, tokenFile: "", profiling: false };

export type FrontendName = "connect-uds" | "connect-tcp" | "grpc-uds" | "grpc-tcp";
export const FRONTENDS: readonly FrontendName[] = ["connect-uds", "connect-tcp", "grpc-uds", "grpc-tcp"];

export interface TunnelFixture {
  readonly server: ProxyServer;
  readonly agentPort: number;
  readonly frontends: Readonly<Record<FrontendName, Frontend>>;
  /** PEM files: `ca` signed them all; `endpoint` is for a TLS server behind the tunnel. */
  readonly files: Readonly<Record<"ca" | "endpoint" | "endpointKey", string>>;
  /** Starts an agent and waits until the server has it. */
  startAgent(settings?: Partial<AgentConfig>): Promise<ProxyAgent>;
  close(): Promise<void>;
}

export async function startTunnelFixture(settings: Partial<ServerConfig> = {}): Promise<TunnelFixture> {
  const dir = await mkdtemp(join(tmpdir(), "drawbridge-client-"));
  const pki = await makeCertificates(dir);
  const [agentPort = 0, connectPort = 0, grpcPort = 0] = await freePorts(3);
  const tls = { certFile: pki.server.certFile, keyFile: pki.server.keyFile!, clientCaFile: pki.caFile };
  const uds = { transport: "uds", deleteExisting: true, fileMode: 0o600 } as const;
  const tcp = { transport: "tcp", host: "127.0.0.1", tls } as const;
  const server = new ProxyServer({
    serverId: "fixture",
    serverCount: 1,
    listeners: [
      { mode: "http-connect", ...uds, path: join(dir, "connect.sock") },
      { mode: "http-connect", ...tcp, port: connectPort },
      { mode: "grpc", ...uds, path: join(dir, "grpc.sock") },
      { mode: "grpc", ...tcp, port: grpcPort },
    ],
    agents: { host: "127.0.0.1", port: agentPort, tls, allowUnauthenticated: false, timeBoxed: false, claimsFile: "" },
    tlsPolicy: { minVersion: "TLSv1.2", cipherSuites: [] },
    health: NOWHERE,
    admin: NOWHERE,
    strategies: ["default"],
    keepaliveMs: 30_000,
    frontendKeepaliveMs: 30_000,
    dialTimeoutMs: 15_000,
    gracefulShutdownMs: 0,
    xfrChannelSize: 10,
    limits: DEFAULT_LIMITS,
    ...settings,
  });
  await server.start();
  const agents: ProxyAgent[] = [];
  const caller = { caFile: pki.caFile, certFile: pki.caller.certFile, keyFile: pki.caller.keyFile! };
  return {
    server,
    agentPort,
    frontends: {
      "connect-uds": { mode: "http-connect", uds: join(dir, "connect.sock") },
      "connect-tcp": { mode: "http-connect", host: "127.0.0.1", port: connectPort, tls: caller },
      "grpc-uds": { mode: "grpc", uds: join(dir, "grpc.sock") },
      "grpc-tcp": { mode: "grpc", host: "127.0.0.1", port: grpcPort, tls: caller },
    },
    files: { ca: pki.caFile, endpoint: pki.server.certFile, endpointKey: pki.server.keyFile! },
    async startAgent(agentSettings = {}) {
      const before = server.board.registry.size;
      const agent = new ProxyAgent({
        ...agentConfig(agentPort, caller),
        agentId: `agent-${agents.length}`,
        ...agentSettings,
      });
      agents.push(agent);
      agent.start();
      await waitUntil("the server to have the agent", () => server.board.registry.size > before);
      return agent;
    },
    async close() {
      await Promise.all(agents.map((agent) => agent.stop()));
      server.destroy();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function makeCertificates(dir: string) {
  const ca = await createAuthority({ commonName: "fixture" });
  const names = { dnsNames: ["localhost"], ipAddresses: ["127.0.0.1"] };
  const server = await issueCertificate(ca, { use: "server", commonName: "fixture-server", ...names });
  const caller = await issueCertificate(ca, { use: "client", commonName: "fixture-caller" });
  return {
    caFile: (await writePem(dir, "ca", { certificatePem: ca.certificatePem })).certFile,
    server: await writePem(dir, "server", server),
    caller: await writePem(dir, "caller", caller),
  };
}

function agentConfig(port: number, tls: { caFile: string; certFile: string; keyFile: string }): AgentConfig {
  return {
    agentId: "",
    identifiers: "",
    servers: [{ host: "127.0.0.1", port }],
    tls: { ...tls, alpn: [] },
    tokenFile: "",
    health: NOWHERE,
    admin: NOWHERE,
    syncIntervalMs: 50,
    syncIntervalCapMs: 200,
    probeIntervalMs: 50,
    keepaliveMs: 30_000,
    syncForever: false,
    serverCountSource: "default",
    xfrChannelSize: 150,
    warnOnChannelLimit: false,
    headerTimeoutMs: 5_000,
    drainTimeoutMs: 0,
    timeBoxed: false,
    allow: [],
    deny: [],
    limits: DEFAULT_LIMITS,
  };
}
