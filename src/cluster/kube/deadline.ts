import type { Clock } from "../../base/clock.js";

export interface Deadline {
  readonly signal: AbortSignal;
  /** Milliseconds left. */
  left(): number;
  clear(): void;
}

/** A signal that fires after `ms` or with the caller's own; its reason is a sentence part for the error. */
export function deadline(clock: Clock, ms: number, outer?: AbortSignal): Deadline {
  const controller = new AbortController();
  const end = clock.now() + ms;
  const cancel = clock.after(ms, () => controller.abort(new Error(`nothing came within ${ms / 1000} s`)));
  const callOff = () => controller.abort(new Error("it was called off"));
  if (outer?.aborted === true) callOff();
  outer?.addEventListener("abort", callOff);
  return {
    signal: controller.signal,
    left: () => end - clock.now(),
    clear() {
      cancel();
      outer?.removeEventListener("abort", callOff);
    },
  };
}
