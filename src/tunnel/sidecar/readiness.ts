/** Whether the tunnel works, found out by dialling through it at intervals. */
import { type ErrorCode, remedies } from "../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { probeEnded } from "./channels.js";
import type { SidecarConfig } from "./config.js";
import type { Router } from "./routing/router.js";

/** `DB_NO_AGENT: Look ...`. */
const named = (code: ErrorCode): string => `${code}: ${remedies[code]}`;

type ProbedRouters = readonly (readonly [listener: string, router: Pick<Router, "probe">])[];

export class TunnelReadiness {
  readonly #source: object;
  readonly #routers: ProbedRouters;
  readonly #times: SidecarConfig["probe"];
  /** Empty: ready. Shown to anybody who asks the health port: codes with what to do, no addresses and no files. */
  #why = "no probe through the tunnel has ended yet";
  #timer: NodeJS.Timeout | undefined;
  readonly #stopped = new AbortController();

  constructor(source: object, routers: ProbedRouters, times: SidecarConfig["probe"]) {
    this.#source = source;
    this.#routers = routers;
    this.#times = times;
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

  /** One probe per listener, one after the other, and a pause: a tunnel that hangs has one probe at a time. */
  async #round(): Promise<void> {
    const failures: string[] = [];
    for (const [listener, router] of this.#routers) {
      const failure = await this.#probe(listener, router);
      if (failure !== "") failures.push(failure);
    }
    if (this.#stopped.signal.aborted) return;
    this.#why =
      failures.length === 0 ? "" : `the last probe through the tunnel failed: ${[...new Set(failures)].join(" ")}`;
    this.#timer = setTimeout(() => void this.#round(), this.#times.intervalMs);
  }

  async #probe(listener: string, router: Pick<Router, "probe">): Promise<string> {
    const { timeoutMs } = this.#times;
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
      return named(code ?? "DB_DIAL_TIMEOUT");
    }
  }
}
