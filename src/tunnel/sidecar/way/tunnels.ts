/** Dials through the proxy-servers of one way: the one that worked last, then the others. */
import type { Duplex } from "node:stream";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { type Dialer, dialerOf } from "../../client/dial.js";
import { describeFrontend, type Frontend } from "../../client/frontend.js";
import { GrpcTunnelPool } from "../../client/grpc-pool.js";
import { type Target, WayError } from "../way.js";
import { describeTarget, tunnelError } from "./errors.js";

export interface Door {
  readonly where: string;
  readonly dialer: Dialer;
  close(): void;
}

export function doorOf(frontend: Frontend): Door {
  const where = describeFrontend(frontend);
  if (frontend.mode === "http-connect") return { where, dialer: dialerOf(frontend), close: () => {} };
  const pool = new GrpcTunnelPool({ ...frontend, mode: "grpc" });
  return { where, dialer: pool, close: () => void pool.close() };
}

/** No agent has heard of the dial, so that another server may be asked. */
const NOT_DIALLED: ReadonlySet<ErrorCode> = new Set(["DB_FRONTEND", "DB_NO_AGENT"]);

export interface TunnelsOptions {
  readonly doors: readonly Door[];
  readonly timeoutMs: number;
  readonly now: () => number;
}

export class Tunnels {
  readonly #options: TunnelsOptions;
  /** Who worked last. */
  #first = 0;

  constructor(options: TunnelsOptions) {
    this.#options = options;
  }

  /** `name` is what the target was before it was resolved. Rejects with a WayError, or with the reason of `stop`. */
  async dial(target: Target, name: string | undefined, stop: AbortSignal): Promise<Duplex> {
    const { doors, timeoutMs, now } = this.#options;
    const deadline = now() + timeoutMs;
    const failures: WayError[] = [];
    for (let turn = 0; turn < doors.length; turn += 1) {
      const index = (this.#first + turn) % doors.length;
      // A server that swallows everything may not use up the time of those behind it.
      const share = Math.max(1, (deadline - now()) / (doors.length - turn));
      try {
        const bounds = { signal: stop, timeoutMs: share, allowHalfOpen: true, name };
        const stream = await doors[index]!.dialer.dial(describeTarget(target), bounds);
        this.#first = index;
        return stream;
      } catch (reason) {
        stop.throwIfAborted();
        const isLast = turn === doors.length - 1;
        if (!(reason instanceof DrawbridgeError) || !mayAskAnother(reason, isLast)) {
          this.#first = index;
          throw tunnelError(reason);
        }
        failures.push(tunnelError(reason));
      }
    }
    this.#first = 0;
    throw this.#none(failures);
  }

  close(): void {
    for (const door of this.#options.doors) door.close();
  }

  #none(failures: readonly WayError[]): WayError {
    const [only] = failures;
    if (failures.length === 1) return only!;
    const said = failures.map((failure) => failure.message.replace(/\.$/, "")).join("; ");
    return new WayError("path", only!.code, `none of ${failures.length} proxy-servers can be used: ${said}.`, {
      cause: only,
    });
  }
}

function mayAskAnother({ code }: DrawbridgeError, isLast: boolean): boolean {
  return NOT_DIALLED.has(code) || (code === "DB_DIAL_TIMEOUT" && !isLast);
}
