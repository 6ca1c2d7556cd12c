/**
 * The servers this agent is connected to. Several may stand behind one address: each attempt is a fresh connection, the
 * server's ID tells whether it is a new one, and the wanted number says when to stop looking.
 */
import { joinHostPort } from "../../base/address.js";
import { remedies } from "../../base/errors/catalogue.js";
import { type Cause, causeFields, causeOf, causeText, messageOf } from "../../base/errors/error.js";
import type { Runtime } from "../../base/runtime.js";
import {
  agentDuplicateServer,
  agentServerConnected,
  agentServerConnectFailed,
  noteChannel,
} from "../events/channels.js";
import type { AgentConfig } from "./config.js";
import type { ServerConnection } from "./connect.js";

type ServerAddress = AgentConfig["servers"][number];

/** A server that is being served. */
export interface ConnectedServer {
  readonly serverId: string;
  readonly address: string;
}

export interface ServerSetOptions {
  /** Identity of the agent in events. */
  readonly source: object;
  readonly config: Pick<
    AgentConfig,
    "servers" | "syncIntervalMs" | "syncIntervalCapMs" | "syncForever" | "serverCountSource"
  >;
  readonly runtime: Runtime;
  /** Servers as counted by other means than what servers say; undefined until that is known. */
  readonly countServers?: () => number | undefined;
  /** One attempt; a server whose ID is in `connected` gives no link of its own. */
  readonly connect: (server: ServerAddress, connected: readonly string[]) => Promise<ServerConnection>;
  /** Starts serving a new server. */
  readonly adopt: (connection: ServerConnection, address: string) => ConnectedServer;
  /** Why no server should be asked now; looked at before every attempt. */
  readonly pauseReason?: () => string | undefined;
}

/** All agents that share a search make one attempt in this time, four a second. */
const ATTEMPT_EVERY_MS = 250;

/** How soon a new certificate is noticed. */
const PAUSED_MS = 5_000;

/** The only thing that an agent waits for instead of asking. */
const OWN_EXPIRED = { code: "DB_TLS_OWN_EXPIRED", remedy: remedies.DB_TLS_OWN_EXPIRED } as const;

const SAME_ID = { code: "DB_SERVER_ID_TWICE", remedy: remedies.DB_SERVER_ID_TWICE } as const;
/** A load balancer behind two names gives the same server a few times by chance. */
const MANY_REPEATS = 6;

export class ServerSet {
  readonly #options: ServerSetOptions;
  readonly #connected = new Set<ConnectedServer>();
  readonly #backoff: Backoff;
  /** By attempts that failed in a row alone. */
  readonly #failing: Backoff;
  /** By the ID of a connected server: how many agents share the search, as it said last. */
  readonly #searchers = new Map<string, number>();
  #next = 0;
  #duplicates = 0;
  /** By address: how many times in a row it led to a server that was connected already. */
  readonly #repeats = new Map<string, number>();
  /** The `servercount` header of the last server. */
  #announced = 1;
  #stopped = false;
  #draining = false;
  /** Why no server is asked at present. */
  pausedBecause: string | undefined;
  /** Why the last attempt at each address failed; none of those where one has succeeded since. */
  readonly #failures = new Map<string, Cause>();
  /** Ends the present wait after the given time instead. */
  #waitFor: (ms: number) => void = () => {};
  #stop: () => void = () => {};
  readonly #whenStopped = new Promise<undefined>((resolve) => {
    this.#stop = () => resolve(undefined);
  });

  constructor(options: ServerSetOptions) {
    this.#options = options;
    const { syncIntervalMs, syncIntervalCapMs } = options.config;
    const random = () => options.runtime.random();
    this.#backoff = new Backoff(syncIntervalMs, syncIntervalCapMs, random);
    this.#failing = new Backoff(Math.min(syncIntervalMs, ATTEMPT_EVERY_MS), syncIntervalCapMs, random);
  }

  get size(): number {
    return this.#connected.size;
  }

  /** Why there is no server, by the newest attempts; none before the first one has ended. */
  get causes(): readonly Cause[] {
    const paused = this.pausedBecause;
    return paused === undefined ? [...this.#failures.values()] : [{ sentence: paused, ...OWN_EXPIRED }];
  }

  /** The same as text. */
  get failure(): string | undefined {
    return this.pausedBecause ?? ([...new Set(this.causes.map(causeText))].join("; ") || undefined);
  }

  /** Several addresses are several servers at least. */
  get wanted(): number {
    const { config, countServers } = this.#options;
    const counted = countServers?.() ?? this.#announced;
    const wanted = config.serverCountSource === "max" ? Math.max(counted, this.#announced) : counted;
    return Math.max(wanted, config.servers.length);
  }

  /**
   * The pause with which all agents together keep their pace, by the largest number that a server gave: one that is new
   * knows few of them as yet. Without a number there is no such pause.
   */
  get #pacedMs(): number {
    if (this.#searchers.size === 0) return Number.POSITIVE_INFINITY;
    return Math.max(...this.#searchers.values()) * ATTEMPT_EVERY_MS;
  }

  /** No further connections; those there are stay. */
  drain(): void {
    this.#draining = true;
  }

  stop(): void {
    this.#stopped = true;
    this.#stop();
  }

  /** The server has said that it is about to go: its successor may be there already. */
  leaveSoon(server: ConnectedServer): void {
    this.forget(server);
    this.#waitFor(Math.min(this.#backoff.soon(), this.#pacedMs));
  }

  /** The connection is gone: another attempt is due. */
  forget(server: ConnectedServer): void {
    this.#connected.delete(server);
    this.#searchers.delete(server.serverId);
    // However slowly servers were being searched for, a lost one's successor is looked for at the usual pace: also when
    // it goes only now, after a GOAWAY that all attempts since then were too early for.
    this.#duplicates = 0;
    this.#waitFor(Math.min(this.#backoff.reset(), this.#pacedMs));
  }

  /** Runs until stopped: policy here, one attempt in #attempt. */
  async run(): Promise<void> {
    while (!this.#stopped) {
      // An attempt may hang until its own deadline; stopping does not wait for it.
      const wait = await Promise.race([this.#round(), this.#whenStopped]);
      if (wait !== undefined) await this.#sleep(wait);
    }
  }

  /** One round; returns how long to wait after it. */
  async #round(): Promise<number> {
    const { syncForever } = this.#options.config;
    if (this.#draining || (!syncForever && this.size >= this.wanted)) return this.#backoff.reset();
    if (this.#isPaused()) return PAUSED_MS;
    const server = this.#nextAddress();
    const address = joinHostPort(server.host, server.port);
    try {
      const duplicate = await this.#attempt(server, address);
      this.#failures.delete(address);
      this.#failing.reset();
      // Looking for servers that are not there costs them a handshake each time: search ever more slowly.
      this.#duplicates = duplicate ? this.#duplicates + 1 : 0;
      const unpaced = this.#duplicates > 5 * this.wanted ? this.#backoff.next() : this.#backoff.reset();
      const wait = Math.min(unpaced, this.#pacedMs);
      return duplicate ? this.#backoff.scattered(wait) : wait;
    } catch (reason) {
      this.#failures.set(address, causeOf(reason));
      const { source } = this.#options;
      agentServerConnectFailed.publish({ source, address, error: messageOf(reason), ...causeFields(reason) });
      // A new server may be led to before it listens: that must not cost the longest pause.
      return Math.min(this.#backoff.next(), Math.max(this.#failing.next(), this.#pacedMs));
    }
  }

  /** The reason is published once, not with every check. */
  #isPaused(): boolean {
    const reason = this.#options.pauseReason?.();
    if (reason !== undefined && this.pausedBecause === undefined) {
      noteChannel.publish({ source: this.#options.source, level: "warn", message: reason });
    }
    this.pausedBecause = reason;
    return reason !== undefined;
  }

  async #attempt(server: ServerAddress, address: string): Promise<boolean> {
    const { source, connect, adopt } = this.#options;
    const connected = [...this.#connected].map(({ serverId }) => serverId);
    const connection = await connect(server, connected);
    if (this.#stopped || this.#draining) {
      connection.session.destroy();
      return false;
    }
    const { serverId, serverCount, searchers } = connection;
    // Also when that connection has ended meanwhile: the server took the agent at its word.
    const isDuplicate = connected.includes(serverId);
    const isGone = isDuplicate && ![...this.#connected].some((known) => known.serverId === serverId);
    if (searchers === undefined || isGone) this.#searchers.delete(serverId);
    else this.#searchers.set(serverId, searchers);
    if (isDuplicate) {
      connection.session.destroy();
      agentDuplicateServer.publish({ source, serverId, address });
      this.#countRepeat(address, serverId);
      return true;
    }
    this.#repeats.delete(address);
    this.#announced = Math.max(1, serverCount);
    this.#connected.add(adopt(connection, address));
    agentServerConnected.publish({ source, serverId, address, serverCount });
    return false;
  }

  /** An address of its own that only ever leads to a server that is connected at another one is worth a warning. */
  #countRepeat(address: string, serverId: string): void {
    const times = (this.#repeats.get(address) ?? 0) + 1;
    this.#repeats.set(address, times);
    const elsewhere = [...this.#connected].find((known) => known.serverId === serverId)?.address;
    if (times !== MANY_REPEATS || elsewhere === undefined || elsewhere === address) return;
    const message = "an address leads to a server with the same ID as one that is connected, and is not used";
    const fields = { ...{ address, serverId, connectedAt: elsewhere }, ...SAME_ID };
    noteChannel.publish({ source: this.#options.source, level: "warn", message, fields });
  }

  /** Addresses in turn, those without a connection first. */
  #nextAddress(): ServerAddress {
    const { servers } = this.#options.config;
    const used = new Set([...this.#connected].map(({ address }) => address));
    const inTurn = [...servers.slice(this.#next), ...servers.slice(0, this.#next)];
    const chosen = inTurn.find(({ host, port }) => !used.has(joinHostPort(host, port))) ?? inTurn[0]!;
    this.#next = (servers.indexOf(chosen) + 1) % servers.length;
    return chosen;
  }

  async #sleep(ms: number): Promise<void> {
    const { runtime } = this.#options;
    let cancel: () => void = () => {};
    const waited = new Promise<void>((resolve) => {
      this.#waitFor = (next) => {
        cancel();
        cancel = runtime.after(next, resolve);
      };
      this.#waitFor(ms);
    });
    await Promise.race([waited, this.#whenStopped]);
    cancel();
    this.#waitFor = () => {};
  }
}

/** Upstream's: half as much again after each failure, up to a cap, each time a little longer by chance. */
const FACTOR = 1.5;
const JITTER = 0.1;

export class Backoff {
  readonly #first: number;
  readonly #cap: number;
  readonly #random: () => number;
  #current: number;

  constructor(firstMs: number, capMs: number, random: () => number) {
    this.#first = firstMs;
    this.#cap = capMs;
    this.#random = random;
    this.#current = firstMs;
  }

  /** How long to wait after one more failure. */
  next(): number {
    const ms = this.#jittered(this.#current);
    this.#current = Math.min(this.#cap, this.#current * FACTOR);
    return ms;
  }

  /** Success: the usual interval again. */
  reset(): number {
    this.#current = this.#first;
    return this.#jittered(this.#first);
  }

  /** Within the usual interval, anywhere: a thousand agents hear of a server that goes at the same moment. */
  soon(): number {
    this.#current = this.#first;
    return this.#first * this.#random();
  }

  /**
   * Anywhere between nothing and twice as long, on average as long. Agents that search in step behind a balancer that
   * takes turns would otherwise be led to the same server again and again, for minutes.
   */
  scattered(ms: number): number {
    return ms * (0.1 + this.#random() * 1.8);
  }

  #jittered(ms: number): number {
    return ms * (1 + this.#random() * JITTER);
  }
}
