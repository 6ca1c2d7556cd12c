/**
 * Asks every agent that has an echo, at intervals, to send a few bytes back over the path real connections take. What
 * comes of it is shown; a link on which nothing moves any more is ended, so that its agent connects again.
 */
import type { Runtime } from "../../../base/runtime.js";
import { serverLinkRecycled, serverPathChecked } from "../../events/channels.js";
import type { PathHealth } from "../../events/facts.js";
import { GrpcStatus } from "../../link/grpc-status.js";
import type { AgentLink } from "../agents/agent-link.js";
import type { AgentRegistry } from "../agents/registry.js";
import type { WatchdogConfig } from "../config.js";
import type { PathProbe } from "./path-probe.js";

/** Longest period of the one timer that all agents share; with shorter intervals it is shorter. */
const SLOWEST_TICK_MS = 1_000;
/** Agents that may be probed in one tick, unless twice an even share of them is more. */
const LEAST_BURST = 16;
/** A new agent is asked soon: readiness may wait for it. */
const FIRST_WITHIN_MS = 1_000;
/** Each time is this much earlier or later, so that agents that came together do not stay together. */
const SPREAD = 0.1;
/** Time for a dismissed agent to read why; after that its connection is ended. */
const DISMISSAL_MS = 5_000;

export interface WatchdogParts {
  /** Identity of the server in events. */
  readonly source: object;
  readonly registry: AgentRegistry;
  readonly runtime: Runtime;
  readonly config: WatchdogConfig;
}

export class Watchdog {
  readonly #parts: WatchdogParts;
  readonly #tickMs: number;
  #lastTick = 0;
  #cancelTick: (() => void) | undefined;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
    const { intervalMs, timeoutMs } = parts.config;
    this.#tickMs = Math.min(SLOWEST_TICK_MS, Math.max(10, Math.min(intervalMs, timeoutMs) / 4));
  }

  start(): void {
    this.#lastTick = this.#parts.runtime.now();
    this.#armTick();
  }

  stop(): void {
    this.#cancelTick?.();
    for (const link of this.#parts.registry.links()) link.probe?.giveUp();
  }

  /** `unknown` for those that have no echo, and before the first answer. */
  pathOf(link: AgentLink): PathHealth {
    return link.probe?.health ?? { state: "unknown" };
  }

  /** The path of the server: it works when that of one agent does. */
  path(): PathHealth {
    return overallPath([...this.#parts.registry.links()].map((link) => this.pathOf(link)));
  }

  // ---- the timer ---------------------------------------------------------------------------------------------------

  #armTick(): void {
    this.#cancelTick = this.#parts.runtime.after(this.#tickMs, this.#tick);
  }

  readonly #tick = (): void => {
    const { registry, runtime, config } = this.#parts;
    const now = runtime.now();
    // If this very process was suspended, the agents are not to blame for answers that wait to be read.
    const suspendedMs = Math.max(0, now - this.#lastTick - 2 * this.#tickMs);
    this.#lastTick = now;
    let burst = Math.max(LEAST_BURST, Math.ceil((2 * registry.size * this.#tickMs) / config.intervalMs));
    for (const link of [...registry.links()]) {
      const { probe } = link;
      if (probe === undefined) continue;
      if (probe.nextAt === 0) probe.nextAt = now + runtime.random() * Math.min(FIRST_WITHIN_MS, config.intervalMs);
      if (probe.busy) {
        probe.deadline += suspendedMs;
        if (now >= probe.deadline) this.#failed(link, probe, `${probe.giveUp()} within ${config.timeoutMs} ms`);
      } else if (now >= probe.nextAt && burst > 0) {
        burst--;
        this.#ask(link, probe, now);
      }
    }
    this.#armTick();
  };

  // ---- one question ------------------------------------------------------------------------------------------------

  #ask(link: AgentLink, probe: PathProbe, now: number): void {
    const { runtime, config } = this.#parts;
    probe.deadline = now + config.timeoutMs;
    probe.nextAt = now + config.intervalMs * (1 - SPREAD + 2 * SPREAD * runtime.random());
    probe.start(now, (failure) => {
      if (failure !== undefined) {
        this.#failed(link, probe, failure);
        return;
      }
      const failuresBefore = probe.failures;
      const roundTripMs = probe.worked(runtime);
      serverPathChecked.publish({ ...this.#about(link), failures: 0, failuresBefore, roundTripMs });
    });
  }

  #failed(link: AgentLink, probe: PathProbe, error: string): void {
    const { runtime, config, registry } = this.#parts;
    const failuresBefore = probe.failures;
    probe.failed(runtime, error);
    // Asked again at once: callers wait for this link.
    probe.nextAt = runtime.now();
    registry.demote(link);
    const { failures } = probe;
    serverPathChecked.publish({ ...this.#about(link), failures, failuresBefore, error });
    if (probe.silentFailures < config.failures) return;
    serverLinkRecycled.publish({ ...this.#about(link), failures, error });
    link.dismiss(GrpcStatus.UNAVAILABLE, `nothing comes through this link any more: ${error}`);
    runtime.after(DISMISSAL_MS, () => link.disconnect());
  }

  #about(link: AgentLink) {
    return { source: this.#parts.source, agentId: link.identity.agentId, stream: link.number };
  }
}

/** The path of a server with these agents: it works when that of one agent does, and the best one is shown. */
export function overallPath(paths: readonly PathHealth[]): PathHealth {
  const of = (state: PathHealth["state"]) => paths.filter((path) => path.state === state);
  const working = of("ok").reduce<PathHealth | undefined>(
    (best, path) => (best === undefined || path.roundTripMs! < best.roundTripMs! ? path : best),
    undefined,
  );
  return working ?? of("failing").sort((one, two) => two.checkedAt! - one.checkedAt!)[0] ?? { state: "unknown" };
}
