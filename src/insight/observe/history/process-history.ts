/** The last ten minutes of a process, kept by itself: whoever looks after an incident sees it. Bounded, and nothing per packet. */
import { type Clock, systemClock } from "../../../base/clock.js";
import { shown } from "../../../base/redact/redact.js";
import type { DialHistory, FailureGroup, HistoryInfo, LeftPeer, TargetHistory, Totals } from "../admin/contract.js";
import { Durations, STEP_MS, STEPS, Steps } from "./series.js";

const MOST_PEERS = 512;
const MOST_TARGETS = 256;
const MOST_FAILURES = 128;
const MOST_LEFT = 64;
const KEPT_MS = STEP_MS * STEPS;

export interface EndedDial {
  readonly target: string;
  /** The agent that was asked, or the server that asked. */
  readonly peer?: string | undefined;
  readonly ms: number;
  /** Of it what this peer took, where another was asked before. */
  readonly peerMs?: number | undefined;
  /** Absent when it was established. */
  readonly error?: string | undefined;
  /** It says nothing of the target: nobody tried it, or nobody waited for its answer. */
  readonly isUndecided?: boolean;
}

export class ProcessHistory {
  readonly #clock: Clock;
  readonly #total = new DialSeries();
  /** Tenths of milliseconds. */
  readonly #dialTenths = new Steps();
  readonly #toTarget = new Steps();
  readonly #fromTarget = new Steps();
  readonly #tunnels = new Steps();
  readonly #peers = new Bounded(MOST_PEERS, () => new DialSeries());
  readonly #targets = new Bounded(MOST_TARGETS, () => new TargetSeries());
  readonly #failures = new Bounded(MOST_FAILURES, () => new Failures());
  readonly #texts = new ShownTexts();
  /** By name: one that came back is not missing. */
  readonly #left = new Map<string, LeftPeer>();
  /** The last step of which there is a sample. */
  #sampled = 0;
  #totals: Pick<Totals, "bytesToTarget" | "bytesFromTarget"> = { bytesToTarget: 0, bytesFromTarget: 0 };

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  dialEnded({ ms, peerMs = ms, error, isUndecided = false, ...names }: EndedDial): void {
    const step = this.#step();
    const target = bounded(names.target);
    const peer = names.peer === undefined ? undefined : bounded(names.peer);
    const isEstablished = error === undefined;
    this.#total.add(step, isEstablished ? ms : undefined);
    if (!isUndecided) {
      const series = this.#targets.of(target);
      series.tried(step, this.#clock.now(), peer, isEstablished);
      series.add(step, isEstablished ? ms : undefined);
    }
    if (!isUndecided && peer !== undefined) this.#peers.of(peer).add(step, isEstablished ? peerMs : undefined);
    if (error === undefined) {
      this.#dialTenths.add(step, Math.round(ms * 10));
      return;
    }
    const reason = withoutNumbers(bounded(error));
    this.#failures.of(`${target} ${reason}`).add(step, this.#clock.now(), { target, reason, peer });
  }

  peerLeft(peer: Omit<LeftPeer, "leftAt">): void {
    const id = bounded(peer.id);
    this.#left.delete(id);
    this.#left.set(id, { ...peer, id, reason: bounded(peer.reason), leftAt: this.#clock.now() });
    if (this.#left.size > MOST_LEFT) this.#left.delete(this.#left.keys().next().value!);
  }

  peerCame(id: string): void {
    this.#left.delete(bounded(id));
  }

  /** Called once in every step. */
  sample({ bytesToTarget, bytesFromTarget, tunnelsOpen }: Omit<Totals, "at">): void {
    // Of the step that is over.
    const step = Math.max(0, this.#step() - 1);
    this.#toTarget.add(step, kib(bytesToTarget - this.#totals.bytesToTarget));
    this.#fromTarget.add(step, kib(bytesFromTarget - this.#totals.bytesFromTarget));
    // A timer may be early or late: no step is without, none has two.
    for (let each = Math.max(this.#sampled, step - STEPS) + 1; each <= step; each++) {
      if (this.#sampled > 0 || each === step) this.#tunnels.add(each, tunnelsOpen);
    }
    this.#sampled = Math.max(this.#sampled, step);
    this.#totals = { bytesToTarget, bytesFromTarget };
  }

  describe(): HistoryInfo {
    const step = this.#step();
    const recent = this.#clock.now() - KEPT_MS;
    // As the host's clock is now: it may have been set since.
    const epoch = this.#clock.date() - this.#clock.now();
    const total = this.#total.describe(step);
    const texts = this.#texts;
    return {
      stepMs: STEP_MS,
      fromAt: Math.round(epoch + (step - 2 * STEPS + 1) * STEP_MS),
      total: {
        ...total,
        dialMs: this.#dialTenths.until(step).map((tenths, at) => {
          const established = total.dials[at]! - total.failures[at]!;
          return established === 0 ? null : tenths / 10 / established;
        }),
        kibToTarget: this.#toTarget.until(step),
        kibFromTarget: this.#fromTarget.until(step),
        tunnels: this.#tunnels.until(step),
      },
      peers: this.#peers.list((id, series) => series.isOver(step) || { id: texts.of(id), ...series.describe(step) }),
      targets: this.#targets.list(
        (target, series) =>
          series.isOver(step) || {
            target: texts.of(target),
            ...series.describe(step),
            ...series.story(step, epoch, texts),
          },
      ),
      failures: this.#failures
        .list((_, failures) => failures.describe(step, epoch, texts) ?? true)
        .sort((one, other) => other.count - one.count || other.lastAt - one.lastAt),
      left: [...this.#left.values()]
        .filter(({ leftAt }) => leftAt > recent)
        .map((peer) => ({
          ...peer,
          id: texts.of(peer.id),
          reason: texts.of(peer.reason),
          leftAt: Math.round(epoch + peer.leftAt),
        }))
        .reverse(),
    };
  }

  /** Counted from before the process began, so that no number is negative. */
  #step(): number {
    return STEPS + Math.floor(this.#clock.now() / STEP_MS);
  }
}

/** Dials of one peer or to one target. */
class DialSeries {
  readonly #dials = new Steps();
  readonly #failures = new Steps();
  readonly #durations = new Durations();

  /** `ms` of an established one. */
  add(step: number, ms: number | undefined): void {
    this.#dials.add(step);
    if (ms === undefined) this.#failures.add(step);
    else this.#durations.add(step, ms);
  }

  isOver(step: number): boolean {
    return this.#dials.sum(step) === 0;
  }

  describe(step: number): DialHistory {
    const [p50Ms, p99Ms] = this.#durations.quantiles(step, [0.5, 0.99]) ?? [];
    return { dials: this.#dials.until(step), failures: this.#failures.until(step), p50Ms, p99Ms };
  }
}

/** Dials to one target: by whom, and since when it does not answer. */
class TargetSeries extends DialSeries {
  /** The latest ones last, each with the step of its last dial. */
  readonly #peers = new Map<string, number>();
  readonly #recoveries = new Steps();
  #failingSince: number | undefined;

  /** Before the dial itself is added. */
  tried(step: number, now: number, peer: string | undefined, isEstablished: boolean): void {
    if (isEstablished && this.#failingSince !== undefined) this.#recoveries.add(step);
    if (isEstablished || this.isOver(step)) this.#failingSince = undefined;
    if (!isEstablished) this.#failingSince ??= now;
    if (peer === undefined) return;
    this.#peers.delete(peer);
    this.#peers.set(peer, step);
    if (this.#peers.size > MOST_NAMED) this.#peers.delete(this.#peers.keys().next().value!);
  }

  story(
    step: number,
    epoch: number,
    texts: ShownTexts,
  ): Pick<TargetHistory, "peers" | "failingSinceAt" | "recoveries"> {
    const since = this.#failingSince;
    return {
      peers: [...this.#peers].flatMap(([peer, last]) => (last > step - STEPS ? [texts.of(peer)] : [])),
      failingSinceAt: since === undefined ? undefined : Math.round(epoch + since),
      recoveries: this.#recoveries.sum(step),
    };
  }
}

/** Dials to one target that failed for one reason. */
class Failures {
  readonly #steps = new Steps();
  readonly #peers = new Set<string>();
  #facts = { target: "", reason: "" };
  #firstAt = 0;
  #lastAt = 0;

  add(
    step: number,
    now: number,
    { target, reason, peer }: { target: string; reason: string; peer?: string | undefined },
  ) {
    if (this.#steps.sum(step) === 0) {
      this.#firstAt = now;
      this.#peers.clear();
    }
    this.#facts = { target, reason };
    this.#steps.add(step);
    this.#lastAt = now;
    if (peer !== undefined && this.#peers.size < MOST_NAMED) this.#peers.add(peer);
  }

  describe(step: number, epoch: number, texts: ShownTexts): FailureGroup | undefined {
    const count = this.#steps.sum(step);
    if (count === 0) return undefined;
    const { target, reason } = this.#facts;
    const peers = [...this.#peers].map((peer) => texts.of(peer));
    const [firstAt, lastAt] = [Math.round(epoch + this.#firstAt), Math.round(epoch + this.#lastAt)];
    return { target: texts.of(target), reason: texts.of(reason), count, firstAt, lastAt, peers };
  }
}

const MOST_NAMED = 8;

/** Things by name. Where there are too many, the one that was not asked for the longest time makes room. */
class Bounded<Thing> {
  readonly #most: number;
  readonly #make: () => Thing;
  readonly #things = new Map<string, Thing>();

  constructor(most: number, make: () => Thing) {
    this.#most = most;
    this.#make = make;
  }

  of(name: string): Thing {
    const thing = this.#things.get(name) ?? this.#make();
    this.#things.delete(name);
    this.#things.set(name, thing);
    if (this.#things.size > this.#most) this.#things.delete(this.#things.keys().next().value!);
    return thing;
  }

  /** Forgets those of which `describe` says `true`. */
  list<Described extends object>(describe: (name: string, thing: Thing) => Described | true): Described[] {
    const found: Described[] = [];
    for (const [name, thing] of this.#things) {
      const described = describe(name, thing);
      if (described === true) this.#things.delete(name);
      else found.push(described);
    }
    return found;
  }
}

/** Each looked through once: the same texts are shown every few seconds. */
class ShownTexts {
  readonly #shown = new Map<string, string>();

  of(text: string): string {
    const known = this.#shown.get(text);
    if (known !== undefined) return known;
    if (this.#shown.size === MOST_TEXTS) this.#shown.clear();
    const made = shown(text);
    this.#shown.set(text, made);
    return made;
  }
}

/** As many as there can be at a time. */
const MOST_TEXTS = MOST_PEERS + MOST_TARGETS + 2 * MOST_FAILURES + 2 * MOST_LEFT;

const MOST_CHARS = 1024;

/** Nothing of a longer text is kept in memory; a slice would keep all of it. */
const bounded = (text: string): string =>
  text.length <= MOST_CHARS ? text : Buffer.from(text.slice(0, MOST_CHARS)).toString();

const kib = (bytes: number): number => Math.round(Math.max(0, bytes) / 1024);

/** The caller's own port and a refusal's reference are others each time: `read udp 10.0.0.1:40312->10.0.0.2:53`. */
const withoutNumbers = (error: string): string =>
  error.replace(/:\d{4,5}->/g, "->").replace(/;? ?\breference [\da-f]{8}\b/g, "");
