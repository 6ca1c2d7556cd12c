/** How long commands wait, and that they can be interrupted. */
import type { Patience, Progress } from "../../cluster/nodes/workers/patience.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { duration } from "../flags/flag-value.js";
import { type GoDuration, parseGoDuration, toMilliseconds } from "../flags/go-duration.js";
import { refused } from "../framework/plain-command.js";

export const declareTimeout = (set: FlagSet, otherwise: string): Flag<GoDuration> =>
  set.add("timeout", duration, parseGoDuration(otherwise), "How long to wait in all.");

export function checkPositive(flag: Flag<GoDuration>): void {
  if (flag.value <= 0n) throw refused(`--${flag.name} must be more than 0`);
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The first signal ends the waiting, so that what was made for a moment is removed; the second ends the process. */
export async function withPatience<T>(
  timeout: Flag<GoDuration>,
  progress: Progress,
  use: (patience: Patience) => Promise<T>,
): Promise<T> {
  const { Patience } = await import("../../cluster/nodes/workers/patience.js");
  const stop = new AbortController();
  const deaf = () => {
    for (const name of signals) process.off(name, onSignal);
  };
  const onSignal = (signal: NodeJS.Signals) => {
    deaf();
    progress.tell(`${signal}: ending; once more to end at once`);
    stop.abort();
  };
  for (const name of signals) process.on(name, onSignal);
  try {
    return await use(new Patience({ timeoutMs: toMilliseconds(timeout.value), progress, signal: stop.signal }));
  } finally {
    deaf();
  }
}
