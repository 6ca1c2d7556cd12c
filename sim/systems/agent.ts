/** A proxy-agent of the simulated world: the real one, whose connections are the network's. */
import type { TLSSocket } from "node:tls";
import { LeaseCount } from "../../src/cluster/membership/lease-count.js";
import { ProxyAgent } from "../../src/tunnel/agent/agent.js";
import type { AgentConfig } from "../../src/tunnel/agent/config.js";
import type { ConnectParts } from "../../src/tunnel/agent/connect.js";
import { closingPhaseMs } from "../../src/tunnel/connection/closing-phase.js";
import type { Resolver } from "../../src/tunnel/resolver/resolver.js";
import type { Network } from "../sockets/network.js";
import { type AgentPlan, BALANCER } from "../types.js";
import { Host } from "../world/host.js";
import type { World } from "../world/world.js";
import type { SimKube } from "./kube.js";
import { runtimeOf } from "./runtime.js";
import { addressOf, GOOD_TOKEN } from "./server.js";

/** Everything in the simulated world has an address. */
const NO_NAMES = {
  prepare: () => NO_NAMES,
  lookup: () => () => {},
} as unknown as Resolver;

/** What all agents of a world share. */
interface SharedParts {
  /** The names behind the balancer. */
  readonly servers: () => readonly string[];
  /** As if by leases, in worlds without an API. */
  readonly countServers: () => number;
  readonly kube: SimKube | undefined;
}

export class SimAgent {
  readonly plan: AgentPlan;
  readonly #world: World;
  readonly #network: Network;
  readonly #shared: SharedParts;
  host: Host;
  agent: ProxyAgent;
  leases: LeaseCount | undefined;
  /** When its drains began, and whether each ended because nothing was left to wait for, and nothing was closed for it. */
  readonly drains: { readonly atMs: number; isGentle: boolean }[] = [];
  isUp = false;
  /** How many processes it has been so far. */
  starts = 0;

  constructor(world: World, network: Network, plan: AgentPlan, shared: SharedParts) {
    this.#shared = shared;
    this.#world = world;
    this.#network = network;
    this.plan = plan;
    this.host = new Host(world, plan.name);
    this.agent = this.#create();
  }

  #create(): ProxyAgent {
    const { plan, host } = this;
    const { extended, token, hasLeases } = plan;
    const { kube, countServers } = this.#shared;
    return new ProxyAgent(configOf(plan), {
      runtime: runtimeOf(host, this.#network),
      resolver: NO_NAMES,
      token: () => (token === "good" ? GOOD_TOKEN : token),
      features: { extended, echo: extended },
      reach: ({ host: server }) =>
        this.#connect(server === BALANCER ? host.random.pick(this.#shared.servers()) : server),
      countServers: kube === undefined ? () => (hasLeases ? countServers() : undefined) : () => this.leases?.count(),
    });
  }

  /** TLS, as far as anybody sees it from above. */
  #connect(server: string): ReturnType<ConnectParts["reach"]> {
    const socket = this.#network.connect(this.host, addressOf.agents(server), { encrypted: true });
    socket.alpnProtocol = "h2";
    return new Promise((resolve, reject) => {
      socket.once("error", reject);
      // TCP has its answer only from somebody who is there.
      const cancel = this.host.clock.after(20_000, () => socket.destroy(new Error("i/o timeout")));
      socket.once("close", cancel);
      socket.once("connect", () => {
        cancel();
        socket.off("error", reject);
        socket.on("error", () => {});
        resolve({
          socket: socket as unknown as TLSSocket,
          facts: () => ({ where: server, name: server, peer: [], own: [] }) as never,
        });
      });
    });
  }

  start(): void {
    this.isUp = true;
    this.starts++;
    this.host.tick(() => {
      this.agent.start();
      this.leases = this.#countLeases();
    });
  }

  #countLeases(): LeaseCount | undefined {
    const api = this.#shared.kube?.apiFor(this.host);
    if (api === undefined) return undefined;
    return new LeaseCount({
      ...{ openApi: () => Promise.resolve(api), runtime: runtimeOf(this.host), namespace: "kube-system" },
      ...{ labelSelector: "", onRequest: () => {}, onError: () => {} },
    });
  }

  kill(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.#network.kill(this.host);
  }

  restart(): void {
    if (this.isUp) return;
    this.host = new Host(this.#world, this.plan.name);
    this.agent = this.#create();
    this.start();
  }

  async drain(limitMs: number): Promise<void> {
    const { agent, host, leases } = this;
    const drain = { atMs: this.#world.now, isGentle: false };
    this.drains.push(drain);
    agent.drain();
    const left = await agent.drained(limitMs);
    drain.isGentle = left === 0 && this.#world.now < drain.atMs + limitMs - closingPhaseMs(limitMs);
    if (!host.alive) return;
    await Promise.all([agent.stop(), leases?.stop()]);
    await new Promise<void>((resolve) => host.after(20, "exit", resolve));
    if (this.agent === agent) this.kill();
  }
}

function configOf(plan: AgentPlan): AgentConfig {
  const nowhere = { host: "", port: 0, tokenFile: "", profiling: false };
  return {
    agentId: plan.name,
    identifiers: "",
    servers: plan.servers.map((host) => ({ host, port: 8091 })),
    tls: { caFile: "", certFile: "", keyFile: "", alpn: [] },
    tokenFile: "",
    syncIntervalMs: plan.syncIntervalMs,
    syncIntervalCapMs: 10 * plan.syncIntervalMs,
    probeIntervalMs: 1_000,
    syncForever: false,
    serverCountSource: "default",
    xfrChannelSize: 150,
    warnOnChannelLimit: false,
    headerTimeoutMs: 15_000,
    drainTimeoutMs: 0,
    timeBoxed: false,
    allow: [],
    deny: [],
    health: nowhere,
    admin: nowhere,
    keepaliveMs: plan.keepaliveMs,
    limits: plan.limits,
  };
}
