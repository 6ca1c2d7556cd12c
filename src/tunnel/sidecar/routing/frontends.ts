/** Dials through several proxy-servers: the one that worked last, then the others. */
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { DrawbridgeError, reasonOf } from "../../../base/errors/error.js";
import type { Runtime } from "../../../base/runtime.js";
import { type Dialer, dialerOf } from "../../client/dial.js";
import { type DialOptions, DialRefusedError } from "../../client/errors.js";
import type { Frontend } from "../../client/frontend.js";
import { GrpcTunnelPool } from "../../client/grpc-pool.js";
import { REDIAL_MS, Redialler } from "../../client/redial.js";
import { DIAL_FAILURES } from "../../outgoing/explain.js";
import { isProbeDialId } from "../../wire/dial-id.js";
import { addressOf, RouteError, type Target, tunnelError } from "./errors.js";

/** A dialer through one frontend of a proxy-server. */
export interface FrontendDialer extends Dialer {
  close?(): unknown;
}

export function frontendDialerOf(frontend: Frontend): FrontendDialer {
  return frontend.mode === "http-connect" ? dialerOf(frontend) : new GrpcTunnelPool({ ...frontend, mode: "grpc" });
}

/** Errors that say that no agent has received the dial. */
const NOT_DIALLED: ReadonlySet<ErrorCode> = new Set(["DB_FRONTEND", "DB_NO_AGENT", ...DIAL_FAILURES]);

interface DialHints extends Pick<DialOptions, "name" | "dialId"> {
  /** There is another way, so that nobody is waited for. */
  readonly isOnce?: boolean;
}

export class FailoverDialer {
  readonly #frontends: readonly FrontendDialer[];
  readonly #timeoutMs: number;
  readonly #runtime: Runtime;
  readonly #redialler: Redialler;
  /** The index of the frontend that worked last. */
  #first = 0;

  constructor(frontends: readonly FrontendDialer[], timeoutMs: number, runtime: Runtime) {
    this.#frontends = frontends;
    this.#timeoutMs = timeoutMs;
    this.#runtime = runtime;
    this.#redialler = new Redialler(Math.min(REDIAL_MS, timeoutMs), runtime);
  }

  /** Again while no server has an agent or listens, for a moment. Rejects with a RouteError, or with the reason of `stop`. */
  async dial(target: Target, hints: DialHints, stop: AbortSignal): Promise<Duplex> {
    // Who asks whether there is an agent wants to know now.
    const isOnce = hints.isOnce === true || isProbeDialId(hints.dialId ?? 0n);
    const deadline = this.#runtime.now() + this.#timeoutMs;
    return await this.#redialler.run(isOnce, stop, () => this.#dialOnce(target, hints, deadline, stop));
  }

  /** Each server in turn. */
  async #dialOnce(target: Target, { name, dialId }: DialHints, deadline: number, stop: AbortSignal): Promise<Duplex> {
    const frontends = this.#frontends;
    const failures: RouteError[] = [];
    /** The first server that answered that its agents could not reach the target in time. */
    let answered: number | undefined;
    for (let turn = 0; turn < frontends.length; turn += 1) {
      const index = (this.#first + turn) % frontends.length;
      // A server that swallows everything may not use up the time of those behind it.
      const share = Math.max(1, (deadline - this.#runtime.now()) / (frontends.length - turn));
      try {
        const bounds = { signal: stop, timeoutMs: share, redialMs: 0, allowHalfOpen: true, name, dialId };
        const stream = await frontends[index]!.dial(addressOf(target), bounds);
        this.#first = index;
        return stream;
      } catch (reason) {
        stop.throwIfAborted();
        const failure = tunnelError(reason);
        const isLast = turn === frontends.length - 1;
        // No agent has received the dial, or this server has used up its share of the time.
        const isTimeout = failure.code === "DB_DIAL_TIMEOUT";
        if (isTimeout && reason instanceof DialRefusedError) answered ??= index;
        const isServers = NOT_DIALLED.has(failure.code) || (isTimeout && !isLast);
        if (!(reason instanceof DrawbridgeError) || !isServers) {
          // A target that nobody reaches says nothing against the servers that tried.
          this.#first = isTimeout ? (answered ?? this.#first) : index;
          throw failure;
        }
        failures.push(failure);
      }
    }
    this.#first = 0;
    const [cause] = failures;
    if (failures.length === 1) throw cause;
    const message = `none of ${failures.length} proxy-servers can be used: ${failures.map(reasonOf).join("; ")}.`;
    throw new RouteError("path", cause!.code, message, { cause });
  }

  close(): void {
    for (const frontend of this.#frontends) void frontend.close?.();
  }
}
