/** The doctor's /metrics. */
import { EventCounter, gaugeRead, gaugesRead } from "../../../base/metrics/families.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import type { PoolRound } from "./round.js";

const PREFIX = "drawbridge_workers_doctor_";

interface DoctorMetrics {
  readonly registry: MetricsRegistry;
  looked(rounds: readonly PoolRound[], at: number): void;
  failed(): void;
}

export function doctorMetrics(): DoctorMetrics {
  const registry = new MetricsRegistry();
  let last: { readonly rounds: readonly PoolRound[]; readonly at: number } = { rounds: [], at: 0 };
  const looks = new EventCounter(registry, `${PREFIX}looks_total`, "Looks at pools and their workers.");
  const failures = new EventCounter(registry, `${PREFIX}failures_total`, "Looks that came to nothing.");
  const fixes = new EventCounter(registry, `${PREFIX}fixes_total`, "Fixes, by what came of them.", ["code", "outcome"]);
  gaugesRead(registry, `${PREFIX}ailments`, "What is wrong (or, as a warning, soon will be) now.", () =>
    last.rounds.flatMap(({ checks, pool }) =>
      checks.flatMap(({ code, state, subject }) =>
        code === undefined ? [] : [[{ code, pool, state, subject }, 1] as const],
      ),
    ),
  );
  gaugeRead(registry, `${PREFIX}last_look_seconds`, "When pools were last looked at, in seconds since 1970.", () =>
    Math.round(last.at / 1000),
  );
  processMetrics(registry);
  return {
    registry,
    looked: (rounds, at) => {
      last = { rounds, at };
      looks.inc();
      for (const { code, outcome } of rounds.flatMap((round) => round.fixes)) {
        if (outcome !== "would be done") fixes.inc({ code, outcome });
      }
    },
    failed: () => failures.inc(),
  };
}
