/** Whether the tunnel works, found out by dialling through it at intervals. */
import { type Cause, causeFields, causeOf, causeText, DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { probeEnded } from "./channels.js";
import type { SidecarConfig } from "./config.js";
import type { Router } from "./routing/router.js";

type ProbedRouters = readonly (readonly [listener: string, router: Pick<Router, "probe">])[];

export class TunnelReadiness {
  readonly #source: object;
  readonly #routers: ProbedRouters;
  readonly #times: SidecarConfig["probe"];
  /** Empty: ready. Shown to anybody who asks the health port. */
  #why = "no probe through the tunnel has ended yet";
  #causes: readonly Cause[] = [];
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

  /** Why the last probes failed. */
  get causes(): readonly Cause[] {
    return this.#causes;
  }

  start(): void {
    void this.#round();
  }

  stop(why: string): void {
    clearTimeout(this.#timer);
    this.#why = why;
    this.#causes = [];
    this.#stopped.abort(new Error(why));
  }

  /** One probe per listener, one after the other, and a pause: a tunnel that hangs has one probe at a time. */
  async #round(): Promise<void> {
    const causes: Cause[] = [];
    for (const [listener, router] of this.#routers) {
      const failure = await this.#probe(listener, router);
      if (failure !== undefined) causes.push(failure);
    }
    if (this.#stopped.signal.aborted) return;
    this.#causes = causes;
    const words = [...new Set(causes.map(causeText))].join(" ");
    this.#why = words === "" ? "" : `the last probe through the tunnel failed: ${words}`;
    this.#timer = setTimeout(() => void this.#round(), this.#times.intervalMs);
  }

  async #probe(listener: string, router: Pick<Router, "probe">): Promise<Cause | undefined> {
    const { timeoutMs } = this.#times;
    const late = AbortSignal.timeout(timeoutMs);
    try {
      await router.probe(AbortSignal.any([late, this.#stopped.signal]));
      probeEnded.publish({ source: this.#source, listener, error: "" });
      return undefined;
    } catch (reason) {
      if (this.#stopped.signal.aborted) return undefined;
      const failure =
        reason instanceof DrawbridgeError || !late.aborted
          ? reason
          : new DrawbridgeError("DB_DIAL_TIMEOUT", `no answer within ${timeoutMs} ms`);
      const { code } = causeFields(failure);
      const known = code === undefined ? {} : { code };
      probeEnded.publish({ source: this.#source, listener, error: messageOf(failure), ...known });
      return causeOf(failure);
    }
  }
}
