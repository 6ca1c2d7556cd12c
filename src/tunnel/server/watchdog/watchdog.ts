/**
 * Asks every agent that has an echo, at intervals, to send a few bytes back over the path real connections take. What
 * comes of it is shown; a link on which nothing moves any more is ended, so that its agent connects again.
 */
import type { Clock } from "../../../base/clock.js";
import { shown } from "../../../base/redact/redact.js";
import { serverLinkRecycled, serverPathChecked } from "../../events/channels.js";
import type { PathHealth } from "../../events/facts.js";
import { GrpcStatus } from "../../link/grpc-status.js";
import type { AgentLink } from "../agents/agent-link.js";
import type { AgentRegistry } from "../agents/registry.js";
import type { WatchdogConfig } from "../config.js";

/** All agents share one timer, that ticks this often; with shorter intervals more often. */
const SLOWEST_TICK_MS = 1_000;
/** So many may be asked in one tick, or twice as many as would be if they were spread evenly. */
const LEAST_BURST = 16;
/** A new agent is asked soon: readiness may wait for it. */
const FIRST_WITHIN_MS = 1_000;
/** Each time is this much earlier or later, so that agents that came together do not stay together. */
const SPREAD = 0.1;
/** For a dismissed agent to read that it is; after that its connection is ended. */
const DISMISSAL_MS = 5_000;

export interface WatchdogParts {
  /** Identity of the server in events. */
  readonly source: object;
  readonly registry: AgentRegistry;
  readonly clock: Clock;
  readonly config: WatchdogConfig;
  readonly random?: () => number;
}

export class Watchdog {
  readonly #parts: WatchdogParts;
  readonly #random: () => number;
  readonly #watches = new WeakMap<AgentLink, PathWatch>();
  readonly #tickMs: number;
  readonly #epoch: number;
  #lastTick = 0;
  #cancelTick: (() => void) | undefined;

  constructor(parts: WatchdogParts) {
    this.#parts = parts;
    this.#random = parts.random ?? Math.random;
    const { intervalMs, timeoutMs } = parts.config;
    this.#tickMs = Math.min(SLOWEST_TICK_MS, Math.max(10, Math.min(intervalMs, timeoutMs) / 4));
    this.#epoch = parts.clock.date() - parts.clock.now();
  }

  start(): void {
    this.#lastTick = this.#parts.clock.now();
    this.#armTick();
  }

  stop(): void {
    this.#cancelTick?.();
    for (const link of this.#parts.registry.links()) link.probe?.giveUp();
  }

  /** `unknown` for those that have no echo, and before the first answer. */
  pathOf(link: AgentLink): PathHealth {
    return this.#watches.get(link)?.health(this.#epoch) ?? { state: "unknown" };
  }

  /** Works when that of one agent does. */
  path(): PathHealth {
    return overallPath([...this.#parts.registry.links()].map((link) => this.pathOf(link)));
  }

  // ---- the timer ---------------------------------------------------------------------------------------------------

  #armTick(): void {
    this.#cancelTick = this.#parts.clock.after(this.#tickMs, this.#tick);
  }

  readonly #tick = (): void => {
    const { registry, clock, config } = this.#parts;
    const now = clock.now();
    // If this very process was suspended, the agents are not to blame for answers that wait to be read.
    const stoodStill = Math.max(0, now - this.#lastTick - 2 * this.#tickMs);
    this.#lastTick = now;
    let burst = Math.max(LEAST_BURST, Math.ceil((2 * registry.size * this.#tickMs) / config.intervalMs));
    for (const link of [...registry.links()]) {
      if (link.probe === undefined) continue;
      const watch = this.#watchOf(link, now);
      if (link.probe.busy) {
        watch.deadline += stoodStill;
        if (now >= watch.deadline) this.#failed(link, watch, `${link.probe.giveUp()} within ${config.timeoutMs} ms`);
      } else if (now >= watch.nextAt && burst > 0) {
        burst--;
        this.#ask(link, watch, now);
      }
    }
    this.#armTick();
  };

  #watchOf(link: AgentLink, now: number): PathWatch {
    const known = this.#watches.get(link);
    if (known !== undefined) return known;
    const watch = new PathWatch(now + this.#random() * Math.min(FIRST_WITHIN_MS, this.#parts.config.intervalMs));
    this.#watches.set(link, watch);
    return watch;
  }

  // ---- one question ------------------------------------------------------------------------------------------------

  #ask(link: AgentLink, watch: PathWatch, now: number): void {
    const { clock, config } = this.#parts;
    watch.asked(now, now + config.timeoutMs, trafficOf(link));
    watch.nextAt = now + config.intervalMs * (1 - SPREAD + 2 * SPREAD * this.#random());
    link.probe!.start((failure) => {
      if (failure === undefined) this.#worked(link, watch, clock.now());
      else this.#failed(link, watch, failure);
    });
  }

  #worked(link: AgentLink, watch: PathWatch, now: number): void {
    const failuresBefore = watch.failures;
    const roundTripMs = watch.worked(now);
    serverPathChecked.publish({ ...this.#about(link), failures: 0, failuresBefore, roundTripMs });
  }

  #failed(link: AgentLink, watch: PathWatch, error: string): void {
    const { clock, config, registry } = this.#parts;
    const now = clock.now();
    const failuresBefore = watch.failures;
    watch.failed(now, error, trafficOf(link));
    // Asked again at once: callers wait for this link.
    watch.nextAt = now;
    registry.demote(link);
    const { failures } = watch;
    serverPathChecked.publish({ ...this.#about(link), failures, failuresBefore, error });
    if (watch.silentFailures >= config.failures) this.#recycle(link, failures, error);
  }

  #recycle(link: AgentLink, failures: number, error: string): void {
    serverLinkRecycled.publish({ ...this.#about(link), failures, error });
    link.dismiss(GrpcStatus.UNAVAILABLE, `nothing comes through this link any more: ${error}`);
    this.#parts.clock.after(DISMISSAL_MS, () => link.disconnect());
  }

  #about(link: AgentLink) {
    return { source: this.#parts.source, agentId: link.identity.agentId, stream: link.number };
  }
}

/** Of callers' connections only, both ways. */
function trafficOf(link: AgentLink): number {
  const { toFar, toNear } = link.tunnels.traffic();
  return toFar + toNear;
}

/** What the watchdog knows of one agent's path. */
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
