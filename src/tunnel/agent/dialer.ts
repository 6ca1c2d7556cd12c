/** Opens the connection to an endpoint: resolve, ask the policy, connect; errors in Go's words, since peers match on them. */

import type { OnReadOpts, Socket } from "node:net";
import { joinHostPort } from "../../base/address.js";
import type { Runtime } from "../../base/runtime.js";
import { LookupError, type Lookups } from "../resolver/resolver.js";
import { type Destination, parseDestination } from "../wire/destination.js";
import { goPhrase } from "../wire/dial-error.js";
import type { DestinationPolicy } from "./policy.js";

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

/** Parts that all dials of an agent share. */
export interface DialRules {
  readonly policy: DestinationPolicy;
  readonly resolver: Lookups;
  readonly runtime: Runtime;
}

export interface DialFailure {
  readonly outcome: "timeout" | "failed" | "policy";
  readonly error: string;
}

export class EndpointDial {
  readonly #runtime: Runtime;
  readonly #policy: DestinationPolicy;
  readonly #resolver: Lookups;
  readonly #result: DialResult;
  readonly #address: string;
  readonly #deadline: number;
  #to: Destination | undefined;
  /** Addresses that were not tried yet. */
  #candidates: string[] = [];
  #lastFailure: DialFailure | undefined;
  #socket: Socket | undefined;
  #cancelTimer: () => void = () => {};
  #cancelLookup: () => void = () => {};
  /** Answered or given up: there is nothing left to cancel. */
  over = false;

  constructor(protocol: string, address: string, { policy, resolver, runtime }: DialRules, result: DialResult) {
    this.#address = address;
    this.#policy = policy;
    this.#resolver = resolver;
    this.#runtime = runtime;
    this.#result = result;
    this.#deadline = runtime.now() + DIAL_TIMEOUT_MS;
    if (protocol === "tcp") this.#start();
    else
      this.#fail({
        outcome: "failed",
        error: `dial ${protocol}: unknown network ${protocol}; this agent dials only tcp`,
      });
  }

  /** Nobody wants the connection any more. */
  cancel(): void {
    if (this.over) return;
    this.#end();
    this.#socket?.destroy();
    this.#result.onCancelled();
  }

  #start(): void {
    const to = parseDestination(this.#address);
    if ("error" in to) {
      this.#fail({ outcome: "failed", error: `dial tcp: ${to.error}` });
      return;
    }
    this.#to = to;
    this.#cancelTimer = this.#runtime.after(DIAL_TIMEOUT_MS, () => this.#timeOut());
    if (to.host.kind === "address") {
      this.#candidates = [to.host.text];
      this.#tryNext();
    } else this.#cancelLookup = this.#resolver.lookup(to.host.text, this.#onLookedUp);
  }

  readonly #onLookedUp = (found: readonly string[] | LookupError): void => {
    if (found instanceof LookupError) {
      const outcome = found.code === "ETIMEOUT" ? "timeout" : "failed";
      this.#fail({ outcome, error: `dial tcp: ${found.message}` });
    } else {
      this.#candidates = [...found];
      this.#tryNext();
    }
  };

  /** The next address the policy lets through; when none is left, the last one's failure is the answer. */
  #tryNext(): void {
    const { host, port } = this.#to!;
    for (let address = this.#candidates.shift(); address !== undefined; address = this.#candidates.shift()) {
      const refusal = this.#policy.refusal(host, address, port);
      if (refusal === undefined) {
        this.#connect(address);
        return;
      }
      const where = joinHostPort(address, port);
      const error = `dial tcp ${where}: refused by this agent's destination policy: ${refusal}`;
      this.#lastFailure = { outcome: "policy", error };
    }
    this.#fail(this.#lastFailure!);
  }

  #connect(address: string): void {
    const { port } = this.#to!;
    const socket = this.#runtime.connect({
      host: address,
      port,
      allowHalfOpen: true,
      noDelay: true,
      keepAlive: true,
      keepAliveInitialDelay: TCP_KEEPALIVE_MS,
      onread: readInto(this.#result.onBytes),
    });
    this.#socket = socket;
    // With further addresses to try, this one may only use its share of the time.
    const share = (this.#deadline - this.#runtime.now()) / (this.#candidates.length + 1);
    const cancelShare =
      this.#candidates.length === 0
        ? () => {}
        : this.#runtime.after(share, () => giveUp(timeoutFor(joinHostPort(address, port))));
    const giveUp = (failure: DialFailure): void => {
      cancelShare();
      socket.destroy();
      if (this.over) return;
      this.#lastFailure = failure;
      this.#tryNext();
    };
    const onError = (error: NodeJS.ErrnoException): void => {
      const text = goPhrase(error.code) ?? error.message;
      const outcome = text === "i/o timeout" ? "timeout" : "failed";
      giveUp({ outcome, error: `dial tcp ${joinHostPort(address, port)}: ${text}` });
    };
    socket.once("error", onError);
    socket.once("connect", () => {
      cancelShare();
      socket.off("error", onError);
      if (this.over) {
        socket.destroy();
        return;
      }
      this.#end();
      this.#result.onConnected(socket);
    });
  }

  #timeOut(): void {
    const looking = this.#socket === undefined;
    this.#fail(
      looking
        ? { outcome: "timeout", error: `dial tcp: lookup ${this.#to!.host.text}: i/o timeout` }
        : timeoutFor(this.#address),
    );
    this.#socket?.destroy();
  }

  #fail(failure: DialFailure): void {
    if (this.over) return;
    this.#end();
    this.#result.onFailed(failure);
  }

  #end(): void {
    this.over = true;
    this.#cancelTimer();
    this.#cancelLookup();
  }
}

function timeoutFor(where: string): DialFailure {
  return { outcome: "timeout", error: `dial tcp ${where}: i/o timeout` };
}

/** Most bytes of one read from an endpoint. */
const READ_BYTES = 64 * 1024;

/**
 * One buffer for all endpoint sockets: a read is encoded into the link's staging buffer before the next one starts, so
 * nobody ever needs two. Whoever keeps a view of it beyond the call reads another connection's bytes.
 */
const shared = Buffer.allocUnsafeSlow(READ_BYTES);

export function readInto(onBytes: (chunk: Uint8Array) => void): OnReadOpts {
  return {
    buffer: shared,
    callback(length, buffer) {
      onBytes(buffer.subarray(0, length));
      return true;
    },
  };
}
