import { assemble } from "./assembly.js";
import type { Veterans } from "./faults/plan.js";
import type { SoakOptions } from "./options.js";
import { play } from "./play.js";
import type { CensusRow } from "./watch/census.js";
import type { Court, Violation } from "./watch/court.js";
import { keepEvidence } from "./watch/evidence.js";
import type { Tally } from "./watch/tally.js";

export interface Outcome {
  readonly violation: Violation | undefined;
  readonly seconds: number;
  readonly veterans: Veterans;
  readonly tally: Tally;
  readonly worstGapSeconds: number;
  readonly warnings: ReadonlyMap<string, number>;
  readonly census: readonly CensusRow[];
  /** How often each process was started. */
  readonly starts: readonly number[];
  /** Upstream's gRPC client took part. */
  readonly withGo: boolean;
}

/** Where the run is, told every some seconds. */
export interface Progress {
  readonly stage: string;
  readonly court: Court;
  readonly tally: Tally;
  readonly worstGapMs: number;
  readonly pids: readonly number[];
}

export interface Observer {
  say(line: string): void;
  progress(now: Progress): void;
}

const PROGRESS_EVERY_MS = 15_000;

/** The whole soak; logs and evidence of a violation are left in `dir`. */
export async function soak(options: SoakOptions, dir: string, observer: Observer): Promise<Outcome> {
  const assembly = await assemble(options, dir, observer.say);
  const { fixture, ground, lines, veterans } = assembly;
  const { court, tally, watchdog } = ground;
  const census: CensusRow[] = [];
  let stage = "warm-up";
  const onStage = (name: string) => {
    stage = name;
  };
  const timer = setInterval(() => {
    const pids = fixture.daemons.map(({ pid }) => pid);
    observer.progress({ stage, court, tally, worstGapMs: watchdog.worstGapMs, pids });
  }, PROGRESS_EVERY_MS);
  try {
    const failed = (reason: unknown) => court.violation(reason instanceof Error ? reason.message : String(reason));
    await Promise.race([play({ options, assembly, census, onStage }).catch(failed), court.violated]);
    if (court.first) await keepEvidence(dir, fixture, watchdog);
    return {
      violation: court.first,
      seconds: court.seconds,
      veterans,
      tally,
      worstGapSeconds: watchdog.worstGapMs / 1000,
      warnings: lines.warnings,
      census,
      starts: fixture.daemons.map(({ starts }) => starts),
      withGo: fixture.frontends.kinds.includes("grpc-go"),
    };
  } finally {
    clearInterval(timer);
    await assembly.close();
  }
}
