/** A dial is made again while nobody has seen it: the server has no agent, does not listen, or is not there any more. */
import { pause } from "../../base/clock.js";
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { DrawbridgeError } from "../../base/errors/error.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";

/** As long as servers hold dials for which they have no agent, where they are told to. */
export const REDIAL_MS = 5_000;

/** The first pause, which doubles up to the longest: a server that starts has other things to do than to refuse. */
const FIRST_PAUSE_MS = 100;
const LONGEST_PAUSE_MS = 1_000;

const UNSEEN: ReadonlySet<ErrorCode> = new Set([
  ...(["DB_NO_AGENT", "DB_CONNECT_REFUSED"] as const),
  // Behind one address may be several servers, of which one has just gone with its pod.
  ...(["DB_CONNECT_TIMEOUT", "DB_CONNECT_UNREACHABLE"] as const),
  // A DNS server that did not answer is not one that said no.
  "DB_NAME_SERVER",
]);

/** Whether this, or what caused it, says that no agent has received the dial, and that the next moment may be better. */
export function isUnseen(reason: unknown): boolean {
  if (!(reason instanceof DrawbridgeError))
    return (reason as NodeJS.ErrnoException | undefined)?.code === "ECONNREFUSED";
  return UNSEEN.has(reason.code) || isBrokenHandshake(reason) || isUnseen(reason.cause);
}

/** It was cut off, or never went on; an answer that is not TLS is an answer. */
function isBrokenHandshake({ code, cause }: DrawbridgeError): boolean {
  const { code: why = "" } = (cause ?? {}) as { readonly code?: string };
  return code === "DB_TLS_NOT_SPOKEN" && !why.startsWith("ERR_SSL");
}

export interface Redialling {
  /** At most so long after the first attempt. */
  readonly forMs: number;
  /** Default: the system's. */
  readonly runtime?: Runtime | undefined;
}

/** Rejects as the last attempt did, or with the reason of `stop`. */
export async function redialled<T>(
  { forMs, runtime = systemRuntime }: Redialling,
  stop: AbortSignal,
  attempt: () => Promise<T>,
): Promise<T> {
  const until = runtime.now() + forMs;
  for (let longest = FIRST_PAUSE_MS; ; longest = Math.min(2 * longest, LONGEST_PAUSE_MS)) {
    try {
      return await attempt();
    } catch (reason) {
      // Callers that were refused at the same moment do not come back at the same moment.
      const ms = longest * (0.5 + runtime.random() / 2);
      if (stop.aborted || !isUnseen(reason) || runtime.now() + ms >= until) throw reason;
      await pause(runtime, ms, stop);
      stop.throwIfAborted();
    }
  }
}

/** After so long without success, attempts are made once until one succeeds. */
const HOPELESS_MS = 30_000;

/** Redials for all callers of the same servers: when every attempt has failed for a long time, callers are told at once. */
export class Redialler {
  readonly #forMs: number;
  readonly #runtime: Runtime;
  /** Since when every dial has failed unseen; undefined: the last one did not. */
  #failingSince: number | undefined;

  constructor(forMs: number, runtime: Runtime) {
    this.#forMs = forMs;
    this.#runtime = runtime;
  }

  /** `isOnce`: there is no second attempt. Rejects as the last attempt did, or with the reason of `stop`. */
  async run<T>(isOnce: boolean, stop: AbortSignal, attempt: () => Promise<T>): Promise<T> {
    const runtime = this.#runtime;
    const began = runtime.now();
    const isHopeless = this.#failingSince !== undefined && began - this.#failingSince >= HOPELESS_MS;
    try {
      const result = await redialled({ forMs: isOnce || isHopeless ? 0 : this.#forMs, runtime }, stop, attempt);
      this.#failingSince = undefined;
      return result;
    } catch (reason) {
      this.#failingSince = isUnseen(reason) ? (this.#failingSince ?? began) : undefined;
      throw reason;
    }
  }
}
