/** The doctor as a process: looks again and again, tells what has changed, and ends when it is told to. */

import { pause, systemClock } from "../../../base/clock.js";
import { messageOf } from "../../../base/errors/error.js";
import { metricsRoute } from "../../../base/health.js";
import { type Endpoint, type Route, type RunningHttp, sendText, startHttp } from "../../../base/http.js";
import { Logger } from "../../../base/log/log.js";
import { nextSignal } from "../../../base/signals.js";
import { doctorMetrics } from "./metrics.js";
import { makeRound, type PoolRound, type RoundOptions } from "./round.js";

interface WatchConfig extends RoundOptions {
  readonly intervalMs: number;
  /** Undefined: no port is opened. */
  readonly health: Endpoint | undefined;
}

/** Resolves to the exit code when the process should end. */
export async function watchWorkers(config: WatchConfig): Promise<number> {
  const logger = new Logger({ format: "text", verbosity: 0 });
  const metrics = doctorMetrics();
  const news = new News(logger);
  let trouble: string | undefined = "nothing has been looked at yet";
  const readyz: Route = (_request, response) => sendText(response, trouble === undefined ? 200 : 500, trouble ?? "ok");
  const health: RunningHttp | undefined =
    config.health &&
    (await startHttp("health", config.health, {
      exact: new Map<string, Route>([
        ["/healthz", (_request, response) => sendText(response, 200, "ok")],
        ["/readyz", readyz],
        ["/metrics", metricsRoute(metrics.registry)],
      ]),
    }));
  logger.info(0, "workers doctor is up", { health: health?.address });
  const end = new AbortController();
  const signalled = nextSignal().then((signal) => {
    logger.info(0, "shutting down", { signal });
    end.abort();
  });
  while (!end.signal.aborted) {
    try {
      const rounds = await makeRound(config);
      metrics.looked(rounds, Date.now());
      news.tell(rounds);
      trouble = undefined;
    } catch (reason) {
      trouble = messageOf(reason);
      metrics.failed();
      logger.warn(trouble);
    }
    await pause(systemClock, config.intervalMs, end.signal);
  }
  await signalled;
  await health?.close();
  await logger.close();
  return 0;
}

/** Each ailment is told when it comes and when it is gone, not at every look. */
class News {
  readonly #logger: Logger;
  #known = new Map<string, string>();

  constructor(logger: Logger) {
    this.#logger = logger;
  }

  tell(rounds: readonly PoolRound[]): void {
    const now = new Map<string, string>();
    for (const { checks, fixes, pool } of rounds) {
      for (const { outcome, said, subject, what } of fixes)
        this.#logger.info(0, what, { pool, subject, outcome, said });
      for (const { code, evidence, finding, remedy, state, subject } of checks) {
        if (code === undefined) continue;
        const key = `${pool} ${code} ${subject}`;
        now.set(key, subject);
        if (!this.#known.has(key)) this.#logger.warn(finding, { code, state, pool, subject, evidence, remedy });
      }
    }
    for (const [key, subject] of this.#known) {
      const [pool, code] = key.split(" ");
      if (!now.has(key)) this.#logger.info(0, "no longer so", { code, pool, subject });
    }
    this.#known = now;
  }
}
