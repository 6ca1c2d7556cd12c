/** The live page and the admin API for facts that are gathered from elsewhere; on loopback only. */

import { pause, systemClock } from "../../../base/clock.js";
import type { RunningHttp } from "../../../base/http.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { listening } from "../../../tunnel/events/channels.js";
import { startAdmin } from "../../observe/admin.js";
import { ObservedOverview } from "./observed.js";
import type { FactProvider } from "./source.js";

export interface OverviewOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly tokenFile: string;
  readonly version: string;
  readonly providers: readonly FactProvider[];
}

/** How long the start waits for first answers; later ones appear on the page. */
const FIRST_ANSWERS_MS = 3_000;

export async function startOverview({ port, tokenFile, version, providers }: OverviewOptions): Promise<RunningHttp> {
  const subject = new ObservedOverview(providers);
  const options = { source: subject, version, subject, tokenFile, profiling: false };
  const http = await startAdmin({ host: "127.0.0.1", port }, new MetricsRegistry(), options);
  listening.publish({ source: subject, what: "admin", address: http.address });
  const late = new AbortController();
  await Promise.race([subject.askAll(), pause(systemClock, FIRST_ANSWERS_MS, late.signal)]);
  late.abort();
  return http;
}
