/** A pool's conditions while a pass over it sets them. */
import { parseTime, secondTime } from "../objects.js";
import type { Condition } from "./node-pool.js";

export type ConditionValue = Pick<Condition, "status" | "reason" | "message">;

export const AS_EXPECTED = "AsExpected";
export const VALIDATION_FAILED = "ValidationFailed";

export function isTrue(message = "", reason = AS_EXPECTED): ConditionValue {
  return { status: "True", reason, message };
}

export function isFalse(reason: string, message: string): ConditionValue {
  return { status: "False", reason, message };
}

export class Conditions {
  readonly #list: Condition[];
  readonly #now: number;
  readonly #generation: number | undefined;

  constructor(before: readonly Condition[], now: number, generation: number | undefined) {
    this.#list = [...before];
    this.#now = now;
    this.#generation = generation;
  }

  get list(): readonly Condition[] {
    return this.#list;
  }

  get(type: string): Condition | undefined {
    return this.#list.find((condition) => condition.type === type);
  }

  /** The time of transition is that of the status; other words for the same status do not move it. */
  set(type: string, value: ConditionValue): void {
    const before = this.get(type);
    const lastTransitionTime = before?.status === value.status ? before.lastTransitionTime : secondTime(this.#now);
    const condition: Condition = {
      type,
      ...value,
      lastTransitionTime,
      ...(this.#generation === undefined ? {} : { observedGeneration: this.#generation }),
    };
    if (before === undefined) this.#list.push(condition);
    else this.#list[this.#list.indexOf(before)] = condition;
  }

  /** Sets the condition to False and ends the pass. */
  fail(type: string, reason: string, message: string, { because = message, retry = false } = {}): never {
    this.set(type, isFalse(reason, message));
    throw new PassEnd(because, { retry });
  }

  remove(type: string): void {
    const before = this.get(type);
    if (before !== undefined) this.#list.splice(this.#list.indexOf(before), 1);
  }
}

/** The meaning of `spec.pausedUntil`, which is a date, true or false. */
export type Pause =
  | { readonly state: "active" }
  | { readonly state: "paused" /** Infinity: until somebody changes it. */; readonly until: number }
  | { readonly state: "invalid" };

export function readPause(pausedUntil: string | undefined, now: number): Pause {
  if (["", "false", "False"].includes(pausedUntil ?? "")) return { state: "active" };
  if (pausedUntil === "true" || pausedUntil === "True") return { state: "paused", until: Number.POSITIVE_INFINITY };
  const until = parseTime(pausedUntil);
  if (until === undefined) return { state: "invalid" };
  return until > now ? { state: "paused", until } : { state: "active" };
}

/** Ends a pass over a pool early; the conditions that were set until then are still reported. */
export class PassEnd extends Error {
  /** Whether the pass is repeated; otherwise it waits for the next change. */
  readonly retry: boolean;

  constructor(because: string, { retry = false } = {}) {
    super(because);
    this.retry = retry;
  }
}
