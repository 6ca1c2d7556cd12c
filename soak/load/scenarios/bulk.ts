import type { Random } from "../../random.js";
import type { End, Pause } from "../end.js";
import { part } from "./part.js";
import type { Scenario } from "./scenario.js";

export interface BulkSize {
  readonly up: number;
  readonly down: number;
}

/** Bytes one way or both at full speed, now and then with a reader that stops for a while and goes on. */
export function bulk({ up, down }: BulkSize, longestPauseMs: number): Scenario {
  return async (job) => {
    const { random } = job;
    const ends = await job.open();
    const { caller, endpoint } = ends;
    // Upstream's client gives a reader ten seconds and then drops the whole session.
    const longestAtCaller = job.frontend === "grpc-go" ? Math.min(4_000, longestPauseMs) : longestPauseMs;
    await Promise.all([
      carry(caller, endpoint, up, pauses(random, up, longestPauseMs)),
      carry(endpoint, caller, down, pauses(random, down, longestAtCaller)),
    ]);
    await part(ends, random);
  };
}

export async function carry(from: End, to: End, bytes: number, stops: readonly Pause[] = []): Promise<void> {
  if (bytes === 0) return;
  const total = to.received + bytes;
  await Promise.all([from.send(bytes), to.until(total, { pauses: stops })]);
}

/** Most readers never stop, some stop once for seconds, some stumble along. */
function pauses(random: Random, bytes: number, longestMs: number): Pause[] {
  const manner = random.weighted([
    [7, "steady"],
    [2, "stops"],
    [2, "stumbles"],
  ] as const);
  if (manner === "steady") return [];
  if (manner === "stops") return [{ after: random.whole(0, bytes - 1), ms: random.between(500, longestMs) }];
  const points = Array.from({ length: random.whole(2, 12) }, () => random.whole(0, bytes - 1)).sort((a, b) => a - b);
  return points.map((after) => ({ after, ms: random.between(5, 200) }));
}
