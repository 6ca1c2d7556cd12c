/** Opens the connection to an endpoint: resolve, ask the policy, connect; errors in Go's words, since peers match on them. */
import net, { type Socket } from "node:net";
import type { Clock } from "../tunnel/clock.js";
import { joinHostPort, splitHostPort } from "../wire/address.js";
import { goPhrase } from "../wire/dial-error.js";
import type { DestinationPolicy } from "./policy.js";
import { readInto } from "./read-buffer.js";
import { resolveHost } from "./resolve.js";

/** Upstream's fixed limit for an endpoint to answer. */
const DIAL_TIMEOUT_MS = 5_000;

/** Go's and upstream's: notice a dead endpoint although nothing is sent. */
const TCP_KEEPALIVE_MS = 15_000;

export interface DialResult {
  readonly onConnected: (socket: Socket) => void;
  readonly onFailed: (failure: DialFailure) => void;
  readonly onCancelled: () => void;
  /** Where the socket's bytes go once it is connected. */
  readonly onBytes: (chunk: Uint8Array) => void;
}

export interface DialFailure {
  readonly outcome: "timeout" | "unknown" | "policy";
  readonly error: string;
}

export class EndpointDial {
  readonly #clock: Clock;
  readonly #policy: DestinationPolicy;
  readonly #result: DialResult;
  readonly #address: string;
  readonly #deadline: number;
  #socket: Socket | undefined;
  #cancelTimer: (() => void) | undefined;
  #over = false;

  constructor(protocol: string, address: string, policy: DestinationPolicy, clock: Clock, result: DialResult) {
    this.#address = address;
    this.#policy = policy;
    this.#clock = clock;
    this.#result = result;
    this.#deadline = clock.now() + DIAL_TIMEOUT_MS;
    if (protocol !== "tcp") {
      this.#fail("unknown", `dial ${protocol}: unknown network ${protocol}; this agent dials only tcp`);
      return;
    }
    this.#cancelTimer = clock.after(DIAL_TIMEOUT_MS, () => this.#timeOut());
    this.#run().catch((reason: unknown) => this.#fail("unknown", `dial tcp: ${String(reason)}`));
  }

  /** Answered or given up: there is nothing left to cancel. */
  get over(): boolean {
    return this.#over;
  }

  /** Nobody wants the connection any more. */
  cancel(): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer?.();
    this.#socket?.destroy();
    this.#result.onCancelled();
  }

  async #run(): Promise<void> {
    const split = splitHostPort(this.#address);
    if ("error" in split) return this.#fail("unknown", `dial tcp: ${split.error}`);
    const port = Number(split.port);
    if (!/^\d+$/.test(split.port) || port > 65_535) {
      return this.#fail("unknown", `dial tcp: lookup tcp/${split.port}: unknown port`);
    }
    let addresses: string[];
    try {
      addresses = await resolveHost(split.host);
    } catch (reason) {
      const text = (reason as Error).message;
      return this.#fail(text.endsWith("i/o timeout") ? "timeout" : "unknown", `dial tcp: ${text}`);
    }
    let failure: DialFailure = { outcome: "unknown", error: `dial tcp: lookup ${split.host}: no such host` };
    for (const [index, address] of addresses.entries()) {
      if (this.#over) return;
      const refusal = this.#policy.refusal(split.host, address, port);
      if (refusal !== undefined) {
        const error = `dial tcp ${joinHostPort(address, port)}: refused by this agent's destination policy: ${refusal}`;
        failure = { outcome: "policy", error };
        continue;
      }
      const share = (this.#deadline - this.#clock.now()) / (addresses.length - index);
      const outcome = await this.#connect(address, port, share);
      if (outcome === undefined) return;
      failure = outcome;
    }
    this.#fail(failure.outcome, failure.error);
  }

  /** Undefined once the dial is over, connected or cancelled; else why this address failed. */
  #connect(address: string, port: number, withinMs: number): Promise<DialFailure | undefined> {
    return new Promise((resolve) => {
      const where = joinHostPort(address, port);
      const socket = net.connect({
        host: address,
        port,
        allowHalfOpen: true,
        noDelay: true,
        keepAlive: true,
        keepAliveInitialDelay: TCP_KEEPALIVE_MS,
        onread: readInto(this.#result.onBytes),
      });
      this.#socket = socket;
      const giveUp = (failure: DialFailure): void => {
        cancelShare();
        socket.destroy();
        resolve(this.#over ? undefined : failure);
      };
      const cancelShare = this.#clock.after(withinMs, () => giveUp(timeoutFor(where)));
      const onError = (error: NodeJS.ErrnoException): void => {
        const text = goPhrase(error.code) ?? error.message;
        giveUp({ outcome: text === "i/o timeout" ? "timeout" : "unknown", error: `dial tcp ${where}: ${text}` });
      };
      socket.once("error", onError);
      socket.once("close", () => resolve(undefined));
      socket.once("connect", () => {
        cancelShare();
        socket.off("error", onError);
        if (this.#over) socket.destroy();
        else {
          this.#over = true;
          this.#cancelTimer?.();
          this.#result.onConnected(socket);
        }
        resolve(undefined);
      });
    });
  }

  #timeOut(): void {
    const split = splitHostPort(this.#address);
    const looking = this.#socket === undefined && "host" in split;
    const { error } = looking ? { error: `dial tcp: lookup ${split.host}: i/o timeout` } : timeoutFor(this.#address);
    this.#fail("timeout", error);
    this.#socket?.destroy();
  }

  #fail(outcome: DialFailure["outcome"], error: string): void {
    if (this.#over) return;
    this.#over = true;
    this.#cancelTimer?.();
    this.#result.onFailed({ outcome, error });
  }
}

function timeoutFor(where: string): DialFailure {
  return { outcome: "timeout", error: `dial tcp ${where}: i/o timeout` };
}
