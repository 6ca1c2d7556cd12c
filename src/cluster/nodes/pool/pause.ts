/** `spec.pausedUntil`: a date, or a plain yes or no. */
import { parseTime } from "../token/time.js";

export type Pause =
  | { readonly state: "active" }
  | { readonly state: "paused" /** Infinity: until somebody changes it. */; readonly until: number }
  | { readonly state: "invalid" };

const words: Readonly<Record<string, Pause>> = {
  true: { state: "paused", until: Number.POSITIVE_INFINITY },
  True: { state: "paused", until: Number.POSITIVE_INFINITY },
  false: { state: "active" },
  False: { state: "active" },
};

export function readPause(pausedUntil: string | undefined, now: number): Pause {
  if (pausedUntil === undefined || pausedUntil === "") return { state: "active" };
  if (Object.hasOwn(words, pausedUntil)) return words[pausedUntil]!;
  const until = parseTime(pausedUntil);
  if (until === undefined) return { state: "invalid" };
  return until > now ? { state: "paused", until } : { state: "active" };
}
