/** A proxy-server of the simulated world: the real one, whose listeners the network calls. */
import type { Server } from "node:net";
import { Connections } from "../../src/base/connections.js";
import { LeaseController } from "../../src/cluster/membership/lease-controller.js";
import { closingPhaseMs } from "../../src/tunnel/connection/closing-phase.js";
import type { Session } from "../../src/tunnel/link/open.js";
import { createTokenAuthenticator } from "../../src/tunnel/server/agents/token-auth.js";
import type { ServerConfig } from "../../src/tunnel/server/config.js";
import { ProxyServer } from "../../src/tunnel/server/server.js";
import { lookForListeners } from "../properties/listeners.js";
import type { Network } from "../sockets/network.js";
import type { ServerPlan } from "../types.js";
import { Host } from "../world/host.js";
import type { World } from "../world/world.js";
import type { SimKube } from "./kube.js";
import { runtimeOf } from "./runtime.js";

/** Where the parts of a server are reached. */
export const addressOf = {
  agents: (server: string): string => `${server}:8091`,
  connect: (server: string): string => `${server}:8090`,
  grpc: (server: string): string => `${server}:8092`,
};

export const GOOD_TOKEN = "good";

const NOWHERE = { host: "", port: 0, tokenFile: "", profiling: false };
const NO_FILES = { certFile: "", keyFile: "", clientCaFile: "" };

export class SimServer {
  readonly plan: ServerPlan;
  readonly #world: World;
  readonly #network: Network;
  readonly #kube: SimKube | undefined;
  host: Host;
  server: ProxyServer;
  leases: LeaseController | undefined;
  /** By the name of the peer: when its newest connection was accepted. */
  readonly acceptedAtMs = new Map<string, number>();
  /** When its drains began, and whether each ended because nothing was left to wait for, and nothing was closed for it. */
  readonly drains: { readonly atMs: number; isGentle: boolean }[] = [];
  isUp = false;
  /** How many processes it has been so far. */
  starts = 0;

  constructor(world: World, network: Network, plan: ServerPlan, kube?: SimKube) {
    this.#kube = kube;
    this.#world = world;
    this.#network = network;
    this.plan = plan;
    this.host = new Host(world, plan.name);
    this.server = this.#create();
    this.leases = this.#keepLease();
  }

  #keepLease(): LeaseController | undefined {
    if (this.#kube === undefined) return undefined;
    return new LeaseController({
      ...{ api: this.#kube.apiFor(this.host), runtime: runtimeOf(this.host), serverId: this.plan.name },
      ...{ namespace: "kube-system", labels: {}, onRequest: () => {}, onError: () => {} },
    });
  }

  #create(): ProxyServer {
    const { plan, host } = this;
    const runtime = runtimeOf(host);
    const connections = new Connections({
      clock: runtime,
      descriptors: { limit: Number.POSITIVE_INFINITY, count: () => undefined },
    });
    return new ProxyServer(configOf(plan), {
      runtime,
      connections,
      ...(plan.tokens === undefined ? {} : { tokens: this.#tokens(plan.tokens.reviewMs) }),
      listen: (server, what, limits) => {
        connections.watch(server, what, true, limits);
        this.#listen(server, what);
      },
    });
  }

  #tokens(reviewMs: number) {
    const { host } = this;
    const account = { namespace: "kube-system", serviceAccount: "agent", audience: "tunnel" };
    return createTokenAuthenticator(
      account,
      async (token) => {
        await new Promise<void>((resolve) => host.after(reviewMs, "token review", resolve));
        if (token !== GOOD_TOKEN) return { authenticated: false };
        const username = `system:serviceaccount:${account.namespace}:${account.serviceAccount}`;
        return { authenticated: true, audiences: [account.audience], user: { username } };
      },
      { runtime: runtimeOf(host), qps: 20, burst: 40 },
    );
  }

  #listen(server: Server, what: string): void {
    const { name } = this.plan;
    const isConnect = what === "http-connect frontend";
    const address = what === "agent" ? addressOf.agents : isConnect ? addressOf.connect : addressOf.grpc;
    const unlisten = this.#network.listen(address(name), {
      host: this.host,
      allowHalfOpen: isConnect,
      accept: (socket, { from }) => {
        this.acceptedAtMs.set(from, this.#world.now);
        server.emit("connection", socket);
        if (what === "grpc frontend") lookForListeners(this.#world, `${name}'s connection that callers share`, socket);
      },
    });
    server.once("close", unlisten);
  }

  start(): void {
    this.isUp = true;
    this.starts++;
    this.host.tick(() => {
      this.server.start().catch((error: unknown) => this.#world.fail("servers start", String(error)));
      this.leases?.start();
    });
  }

  kill(): void {
    if (!this.isUp) return;
    this.isUp = false;
    this.#network.kill(this.host);
  }

  /** A new process takes its place. */
  restart(): void {
    if (this.isUp) return;
    this.host = new Host(this.#world, this.plan.name);
    this.server = this.#create();
    this.leases = this.#keepLease();
    this.start();
  }

  /** As servers do that let no connection grow old. */
  askToGo(): void {
    if (!this.isUp) return;
    this.host.tick(() => {
      for (const { connection } of this.server.board.registry.links()) (connection as Session).close();
    });
  }

  /** As SIGTERM does; resolves when the process has ended. */
  async drain(limitMs: number): Promise<void> {
    const { server, host, leases } = this;
    const drain = { atMs: this.#world.now, isGentle: false };
    this.drains.push(drain);
    const withdrawn = leases?.stop();
    const isDone = await server.drain(limitMs);
    drain.isGentle = isDone && this.#world.now < drain.atMs + limitMs - closingPhaseMs(limitMs);
    if (!host.alive) return;
    await server.stop();
    await withdrawn;
    // What the process does after this takes a turn or two, and then it ends.
    await new Promise<void>((resolve) => host.after(20, "exit", resolve));
    if (this.server === server) this.kill();
  }
}

function configOf(plan: ServerPlan): ServerConfig {
  const { name, limits, dialTimeoutMs, waitForAgentMs, keepaliveMs, watchdog, serverCount, tokens } = plan;
  const uds = { transport: "uds", path: "", deleteExisting: true, fileMode: 0o600 } as const;
  return {
    serverId: name,
    serverCount,
    listeners: [
      { mode: "http-connect", ...uds },
      { mode: "grpc", ...uds },
    ],
    agents: {
      ...{ host: name, port: 8091, tls: NO_FILES, timeBoxed: false, claimsFile: "" },
      allowUnauthenticated: tokens === undefined,
    },
    tlsPolicy: { minVersion: "TLSv1.2", cipherSuites: [] },
    health: NOWHERE,
    admin: NOWHERE,
    strategies: ["default"],
    keepaliveMs,
    frontendKeepaliveMs: keepaliveMs,
    dialTimeoutMs,
    waitForAgentMs,
    gracefulShutdownMs: 0,
    xfrChannelSize: 10,
    limits,
    ...(watchdog === undefined ? {} : { watchdog }),
  };
}
