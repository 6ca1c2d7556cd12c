/** What the watchdog knows of one agent's path. */

import { shown } from "../../../base/redact/redact.js";
import type { PathHealth } from "../../events/facts.js";

export class PathWatch {
  /** By the server's clock. */
  nextAt: number;
  deadline = 0;
  /** In a row. */
  failures = 0;
  /**
   * Those of them, in a row, during which no caller's byte moved either. A link that carries something is slow, not
   * wedged, and ending it would only hurt.
   */
  silentFailures = 0;
  #state: PathHealth["state"] = "unknown";
  #askedAt = 0;
  #checkedAt = 0;
  #roundTripMs = 0;
  #error = "";
  #trafficBefore = 0;

  constructor(nextAt: number) {
    this.nextAt = nextAt;
  }

  asked(now: number, deadline: number, traffic: number): void {
    this.#askedAt = now;
    this.deadline = deadline;
    this.#trafficBefore = traffic;
  }

  /** Answers how long it took. */
  worked(now: number): number {
    this.#state = "ok";
    this.#checkedAt = now;
    this.failures = 0;
    this.silentFailures = 0;
    this.#roundTripMs = now - this.#askedAt;
    return this.#roundTripMs;
  }

  failed(now: number, error: string, traffic: number): void {
    this.#state = "failing";
    this.#checkedAt = now;
    this.failures++;
    this.silentFailures = traffic === this.#trafficBefore ? this.silentFailures + 1 : 0;
    // An agent may have worded it.
    this.#error = shown(error);
  }

  /** `epoch`: what the clock has to be added to for milliseconds since 1970. */
  health(epoch: number): PathHealth {
    if (this.#state === "unknown") return { state: "unknown" };
    const checkedAt = Math.round(epoch + this.#checkedAt);
    if (this.#state === "ok") {
      return { state: "ok", checkedAt, roundTripMs: Math.round(this.#roundTripMs * 100) / 100 };
    }
    return { state: "failing", checkedAt, failures: this.failures, error: this.#error };
  }
}

/** Of a server with these agents: it works when one does, and the best one is shown. */
export function overallPath(paths: readonly PathHealth[]): PathHealth {
  const of = (state: PathHealth["state"]) => paths.filter((path) => path.state === state);
  const working = of("ok").reduce<PathHealth | undefined>(
    (best, path) => (best === undefined || path.roundTripMs! < best.roundTripMs! ? path : best),
    undefined,
  );
  return working ?? of("failing").sort((one, two) => two.checkedAt! - one.checkedAt!)[0] ?? { state: "unknown" };
}
