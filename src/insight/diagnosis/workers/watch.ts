/** `workers doctor --watch`: diagnoses at intervals, logs what has changed, and serves metrics. */
import { pause, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { startServerHealth } from "../../../base/health.js";
import type { Endpoint } from "../../../base/http.js";
import { Logger } from "../../../base/log/log.js";
import { processMetrics } from "../../../base/metrics/process-metrics.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { nextSignal } from "../../../base/signals.js";
import { diagnosePools, type PoolDiagnosis, type WorkersDoctorOptions } from "./doctor.js";

export interface WatchOptions extends WorkersDoctorOptions {
  readonly intervalMs: number;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function watchWorkers(options: WatchOptions): Promise<number> {
  const logger = new Logger({ format: "text", verbosity: 0 });
  const metrics = doctorMetrics();
  const logChanges = changeLog(logger);
  let problem: string | undefined = "nothing has been looked at yet";
  const readiness = { ready: () => problem === undefined, why: () => problem };
  const health = options.health && (await startServerHealth(options.health, readiness, metrics.registry));
  logger.info(0, "workers doctor is up", { health: health?.address });
  const end = new AbortController();
  const signalled = nextSignal().then((signal) => {
    logger.info(0, "shutting down", { signal });
    end.abort();
  });
  while (!end.signal.aborted) {
    try {
      const diagnoses = await diagnosePools(options);
      metrics.looked(diagnoses, Date.now());
      logChanges(diagnoses);
      problem = undefined;
    } catch (reason) {
      problem = messageOf(reason);
      metrics.failed();
      logger.warn(problem);
    }
    await pause(systemClock, options.intervalMs, end.signal);
  }
  await signalled;
  await health?.close();
  await logger.close();
  return 0;
}

/** Logs each finding when it appears and when it is gone, not every time. */
function changeLog(logger: Logger) {
  let known = new Map<string, Readonly<Record<string, string>>>();
  return (diagnoses: readonly PoolDiagnosis[]): void => {
    const now: typeof known = new Map();
    for (const { findings, fixes, pool } of diagnoses) {
      for (const { outcome, result, subject, what } of fixes) logger.info(0, what, { pool, subject, outcome, result });
      for (const { code, evidence, message, remedy, state, subject = "" } of findings) {
        if (code === undefined) continue;
        const key = `${pool} ${code} ${subject}`;
        now.set(key, { code, pool, subject });
        if (!known.has(key)) logger.warn(message, { code, state, pool, subject, evidence, remedy });
      }
    }
    for (const [key, about] of known) if (!now.has(key)) logger.info(0, "no longer so", about);
    known = now;
  };
}

const PREFIX = "drawbridge_workers_doctor_";

export function doctorMetrics() {
  const registry = new MetricsRegistry();
  let last: { readonly diagnoses: readonly PoolDiagnosis[]; readonly at: number } = { diagnoses: [], at: 0 };
  const looks = registry.counter(`${PREFIX}looks_total`, "Looks at pools and their workers.");
  const failures = registry.counter(`${PREFIX}failures_total`, "Looks that came to no result.");
  const fixes = registry.counter(`${PREFIX}fixes_total`, "Fixes, by their outcome.", ["code", "outcome"]);
  registry.gauge(`${PREFIX}findings`, "Findings with a code now: failed, or a warning.", () =>
    last.diagnoses.flatMap(({ findings, pool }) =>
      findings.flatMap(({ code, state, subject = "" }) =>
        code === undefined ? [] : [[{ code, pool, state, subject }, 1] as const],
      ),
    ),
  );
  registry.gauge(`${PREFIX}last_look_seconds`, "When pools were last looked at, in seconds since 1970.", () =>
    Math.round(last.at / 1000),
  );
  processMetrics(registry);
  return {
    registry,
    looked(diagnoses: readonly PoolDiagnosis[], at: number): void {
      last = { diagnoses, at };
      looks.inc();
      for (const { code, outcome } of diagnoses.flatMap((diagnosis) => diagnosis.fixes)) {
        if (outcome !== "would be done") fixes.inc({ code, outcome });
      }
    },
    failed: () => failures.inc(),
  };
}
