/** Whether the tunnel works, found out by dialling through it now and then; asking costs nothing. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { probeEnded } from "./channels.js";
import type { Router } from "./routing/router.js";

export interface ProbedListener {
  readonly listener: string;
  readonly router: Pick<Router, "probe">;
}

export interface ProbePace {
  readonly intervalMs: number;
  readonly timeoutMs: number;
}

export class Readiness {
  readonly #source: object;
  readonly #probed: readonly ProbedListener[];
  readonly #pace: ProbePace;
  /** Empty: ready. For people without a right to details: codes, no addresses and no files. */
  #why = "no probe through the tunnel has ended yet";
  #timer: NodeJS.Timeout | undefined;
  readonly #stopped = new AbortController();

  constructor(source: object, probed: readonly ProbedListener[], pace: ProbePace) {
    this.#source = source;
    this.#probed = probed;
    this.#pace = pace;
  }

  get ready(): boolean {
    return this.#why === "";
  }

  get why(): string {
    return this.#why;
  }

  start(): void {
    void this.#round();
  }

  stop(why: string): void {
    clearTimeout(this.#timer);
    this.#why = why;
    this.#stopped.abort(new Error(why));
  }

  /** One probe a listener, one after the other, and a pause: a tunnel that hangs is not asked twice at once. */
  async #round(): Promise<void> {
    const failures: string[] = [];
    for (const { listener, router } of this.#probed) {
      const failure = await this.#probe(listener, router);
      if (failure !== "") failures.push(failure);
    }
    if (this.#stopped.signal.aborted) return;
    this.#why =
      failures.length === 0 ? "" : `the last probe through the tunnel failed: ${[...new Set(failures)].join(", ")}`;
    this.#timer = setTimeout(() => void this.#round(), this.#pace.intervalMs);
  }

  async #probe(listener: string, router: ProbedListener["router"]): Promise<string> {
    const { timeoutMs } = this.#pace;
    const late = AbortSignal.timeout(timeoutMs);
    try {
      await router.probe(AbortSignal.any([late, this.#stopped.signal]));
      probeEnded.publish({ source: this.#source, listener, error: "" });
      return "";
    } catch (reason) {
      if (this.#stopped.signal.aborted) return "stopped";
      const code = reason instanceof DrawbridgeError ? reason.code : undefined;
      const error = late.aborted && code === undefined ? `no answer within ${timeoutMs} ms` : messageOf(reason);
      probeEnded.publish({ source: this.#source, listener, error, ...(code === undefined ? {} : { code }) });
      return code ?? "DB_DIAL_TIMEOUT";
    }
  }
}
