import type { ConnectFrontend } from "../callers/connect.js";
import { executable, type Origin } from "../processes/executables.js";
import { freePort } from "../processes/ports.js";
import { drainByHand } from "./drain.js";
import { connectOverTcp } from "./frontends.js";
import { HaProxy } from "./haproxy.js";
import { hasMetric, metric } from "./metrics.js";
import { AGENT_METRIC, ProxyAgent } from "./proxy-agent.js";
import { ProxyServer, SERVER_METRIC, type ServerPorts } from "./proxy-server.js";
import type { Scope } from "./scope.js";
import type { TunnelCertificates } from "./tunnel-certificates.js";
import { until } from "./wait.js";

const HOST = "127.0.0.1";

/** How long a process that was asked to end lets its tunnels finish. */
export const DRAIN_MS = 10_000;
/** By then it has ended. */
export const GONE_MS = DRAIN_MS + 10_000;

export interface HaFleetOptions {
  readonly name: string;
  /** As many servers as may ever run at once. */
  readonly slots: number;
  readonly certificates: TunnelCertificates;
  readonly serverFlags: readonly string[];
  readonly agentFlags: readonly string[];
}

export interface FleetAgent {
  readonly origin: Origin;
  readonly process: ProxyAgent;
}

/** Our servers behind HAProxy, and agents of both kinds that know only HAProxy's address. All on loopback. */
export class HaFleet {
  readonly balancer: HaProxy;
  /** By slot; a slot may be empty. */
  readonly slots: readonly ProxyServer[];
  readonly running = new Set<ProxyServer>();
  readonly agents: FleetAgent[] = [];
  #agentsNamed = 0;
  readonly #scope: Scope;
  readonly #options: HaFleetOptions;

  private constructor(scope: Scope, options: HaFleetOptions, balancer: HaProxy, slots: readonly ProxyServer[]) {
    this.#scope = scope;
    this.#options = options;
    this.balancer = balancer;
    this.slots = slots;
  }

  static async make(scope: Scope, options: HaFleetOptions): Promise<HaFleet> {
    const ports: ServerPorts[] = [];
    for (let slot = 0; slot < options.slots; slot++) {
      ports.push({
        frontend: await freePort(),
        agents: await freePort(),
        health: await freePort(),
        admin: await freePort(),
      });
    }
    const { certificates, name, serverFlags } = options;
    const slots = ports.map(
      (each, slot) =>
        new ProxyServer(scope, {
          name: `${name}-server-${slot}`,
          executable: executable("ours", "proxy-server"),
          host: HOST,
          ports: each,
          certificates,
          flags: [
            `--server-bind-address=${HOST}`,
            `--agent-bind-address=${HOST}`,
            `--cluster-ca-cert=${certificates.ca.cert}`,
            `--graceful-shutdown-timeout=${DRAIN_MS}ms`,
            ...serverFlags,
          ],
        }),
    );
    return new HaFleet(scope, options, await HaProxy.start(scope, `${name}-haproxy`, ports), slots);
  }

  /** What callers dial: the balancer, or one server past it. */
  frontend(slot?: number): ConnectFrontend {
    const { ca, frontendClient } = this.#options.certificates;
    const port = slot === undefined ? this.balancer.callersPort : this.slots[slot]!.ports.frontend;
    return { transport: "tcp", host: HOST, port, certs: { ca: ca.cert, ...frontendClient } };
  }

  /** A flag of the fleet's that is said again has that value for this server. */
  async startServer(slot: number, ...flags: readonly string[]): Promise<void> {
    const server = this.slots[slot]!;
    await server.start(connectOverTcp, flags);
    this.running.add(server);
  }

  /** Asks it to end and waits until it has. */
  async stopServer(slot: number): Promise<void> {
    const server = this.slots[slot]!;
    this.running.delete(server);
    await server.stop(GONE_MS);
  }

  async addAgent(origin: Origin, ...flags: readonly string[]): Promise<FleetAgent> {
    const { certificates, name, agentFlags } = this.#options;
    const process = new ProxyAgent(this.#scope, {
      // Counted at once: several are added at the same time, and two of one name would be one agent to a server.
      name: `${name}-agent-${origin}-${this.#agentsNamed++}`,
      executable: executable(origin, "proxy-agent"),
      caFile: certificates.ca.cert,
      serverHost: HOST,
      serverPort: this.balancer.agentsPort,
      ports: { health: await freePort(), admin: await freePort() },
      flags: [
        `--agent-cert=${certificates.agent.cert}`,
        `--agent-key=${certificates.agent.key}`,
        "--sync-interval=300ms",
        "--sync-interval-cap=1s",
        ...(origin === "ours" ? [`--drain-timeout=${DRAIN_MS}ms`] : []),
        ...agentFlags,
        ...flags,
      ],
    });
    const agent = { origin, process };
    this.agents.push(agent);
    await process.start();
    return agent;
  }

  /** Drains the agent, ends it, and starts another in its place. */
  async restartAgent({ origin, process }: FleetAgent): Promise<void> {
    if (origin === "theirs") await drainByHand(process, this.running, GONE_MS);
    else await process.leave(GONE_MS);
    await process.start();
  }

  /** Every agent holds as many connections as there are servers, and every server one of each agent: no id twice. */
  async settled(withinMs = 60_000): Promise<void> {
    const { agents, running } = this;
    const wanted = [
      Array.from({ length: running.size }, () => agents.length),
      Array.from({ length: agents.length }, () => running.size),
    ];
    let last = "";
    await until(
      `each of ${agents.length} agents to be with each of ${running.size} servers once`,
      withinMs,
      async () => {
        last = JSON.stringify(await this.connections());
        return last === JSON.stringify(wanted);
      },
    ).catch((error: Error) => {
      throw new Error(`${error.message}; streams by server and by agent were ${last}`, { cause: error });
    });
  }

  /** Agents' streams that each server has, and servers that each agent has. */
  async connections(): Promise<[servers: number[], agents: number[]]> {
    const streams = [...this.running].map(async (server) =>
      exported(await server.metrics(), `${SERVER_METRIC}_grpc_connections`, { service_method: "Connect" }),
    );
    const held = this.agents.map(async ({ process }) =>
      exported(await process.metrics(), `${AGENT_METRIC}_open_server_connections`),
    );
    return [await Promise.all(streams), await Promise.all(held)];
  }
}

/** A metric that must be there: a missing one is no zero. */
function exported(text: string, name: string, labels: Readonly<Record<string, string>> = {}): number {
  if (!hasMetric(text, name)) throw new Error(`${name} is not exported`);
  return metric(text, name, labels);
}
