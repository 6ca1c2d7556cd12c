/** The live page and the admin API for what is asked elsewhere; on loopback only. */

import type { RunningHttp } from "../../../base/http.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { listening } from "../../../tunnel/events/channels.js";
import { startAdmin } from "../../observe/admin.js";
import type { Provider } from "./source.js";
import { OverviewSubject } from "./subject.js";

export interface OverviewOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly tokenFile: string;
  readonly version: string;
  readonly providers: readonly Provider[];
}

/** Whoever is slow is waited for by the page, not by the person who starts it. */
const FIRST_ANSWERS_MS = 3_000;

export async function startOverview({ port, tokenFile, version, providers }: OverviewOptions): Promise<RunningHttp> {
  const subject = new OverviewSubject(providers);
  const options = { source: subject, version, subject, tokenFile, profiling: false };
  const http = await startAdmin({ host: "127.0.0.1", port }, new MetricsRegistry(), options);
  listening.publish({ source: subject, what: "admin", address: http.address });
  let timer: NodeJS.Timeout | undefined;
  const patience = new Promise((resolve) => {
    timer = setTimeout(resolve, FIRST_ANSWERS_MS);
  });
  await Promise.race([subject.askAll(), patience]);
  clearTimeout(timer);
  return http;
}
