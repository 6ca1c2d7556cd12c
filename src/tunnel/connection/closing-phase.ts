/**
 * The last part of a server's or an agent's drain. A kept-alive connection does not end by itself, and its client takes it
 * as no failure when it is closed between two requests. So a tunnel is closed once its caller has been answered and both
 * ends have been silent for a moment, instead of being cut at the deadline, whatever it carries then.
 */
import type { Runtime } from "../../base/runtime.js";
import type { Tunnel } from "./tunnel.js";

const LONGEST_MS = 5_000;

/** How much of a drain is its closing phase; sessions of a few seconds end undisturbed before. */
export const closingPhaseMs = (drainMs: number): number => Math.min(LONGEST_MS, drainMs / 2);

/**
 * How long a tunnel has to have been silent, by the share of the phase that is left. At first those are closed that are not
 * in use, and an answer that comes in pieces is not taken for a whole one; then busier ones. It falls in few steps: if it
 * fell slowly, regular requests would be met at the end of their pause, just before the next one.
 */
const STEPS: readonly Step[] = [
  { left: 0.5, silence: 0.1, age: 1 },
  { left: 0.25, silence: 0.02, age: 1 },
  { left: 0, silence: 0, age: 0 },
];
const SHORTEST_SILENCE_MS = 10;

/** All as shares of the phase. */
interface Step {
  readonly left: number;
  readonly silence: number;
  /** How old a tunnel has to be: a short session that had to begin during the drain may still end by itself. */
  readonly age: number;
}

/** How often tunnels are looked at within the silence that is asked for. */
const LOOKS_PER_SILENCE = 4;
const SHORTEST_LOOK_MS = 5;

/** A caller that has only just connected is in the middle of a TLS handshake, not between two requests. */
const NEW_MS = 1_000;

export interface ClosingPhaseOptions {
  /** Those that are open now. */
  readonly tunnels: () => Iterable<Tunnel>;
  readonly runtime: Runtime;
  readonly endsAt: number;
  /** For the events of the tunnels that it closes. */
  readonly reason: string;
}

export class ClosingPhase {
  /** How many it has closed. */
  closed = 0;
  readonly #options: ClosingPhaseOptions;
  readonly #beganAt: number;
  readonly #silences = new WeakMap<Tunnel, { bytes: number; ms: number }>();
  #lookedAt: number;
  #isOver = false;
  #cancelTimer: () => void = () => {};

  constructor(options: ClosingPhaseOptions) {
    this.#options = options;
    this.#beganAt = options.runtime.now();
    this.#lookedAt = this.#beganAt;
    this.#look();
  }

  end(): void {
    this.#isOver = true;
    this.#cancelTimer();
  }

  get #phaseMs(): number {
    return this.#options.endsAt - this.#beganAt;
  }

  get #step(): Step {
    const left = (this.#options.endsAt - this.#options.runtime.now()) / this.#phaseMs;
    return STEPS.find((each) => left > each.left) ?? STEPS.at(-1)!;
  }

  get #silenceMs(): number {
    return Math.max(SHORTEST_SILENCE_MS, this.#phaseMs * this.#step.silence);
  }

  get #youngestMs(): number {
    return Math.max(NEW_MS, this.#phaseMs * this.#step.age);
  }

  get #lookMs(): number {
    return Math.max(SHORTEST_LOOK_MS, this.#silenceMs / LOOKS_PER_SILENCE);
  }

  readonly #look = (): void => {
    const { runtime, tunnels, endsAt, reason } = this.#options;
    const now = runtime.now();
    if (this.#isOver || now >= endsAt) return;
    // While this process did not run, it heard nobody: that time is no silence.
    const heardMs = Math.min(now - this.#lookedAt, 2 * this.#lookMs);
    this.#lookedAt = now;
    const quiet = [...tunnels()].filter((tunnel) => this.#isQuiet(tunnel, heardMs));
    // A socket at once: until it is gone, its caller could still send a request into it.
    for (const tunnel of quiet) tunnel.close(reason, tunnel.port.canHalfClose ? "destroy" : "close");
    this.closed += quiet.length;
    // Requests that wait in the kernel are read between the timer and the immediate.
    this.#cancelTimer = runtime.after(this.#lookMs, () => runtime.soon(this.#look));
  };

  #isQuiet(tunnel: Tunnel, heardMs: number): boolean {
    const bytes = tunnel.bytesToFar + tunnel.bytesToNear;
    const silence = this.#silences.get(tunnel);
    if (silence?.bytes !== bytes || !isBetweenRequests(tunnel)) {
      this.#silences.set(tunnel, { bytes, ms: 0 });
      return false;
    }
    silence.ms += heardMs;
    return silence.ms >= this.#silenceMs && this.#lookedAt - tunnel.info.openedAt >= this.#youngestMs;
  }
}

/** One of which a direction has ended is about to end by itself. */
function isBetweenRequests({ farSpokeLast, paused, port, nearEndedAt, farEndedAt }: Tunnel): boolean {
  return farSpokeLast && !paused && port.queuedBytes === 0 && nearEndedAt === 0 && farEndedAt === 0;
}
