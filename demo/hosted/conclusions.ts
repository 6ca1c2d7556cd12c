/** What the calls of a scene say about it. */
import { failuresOf, type Report, reportText, servedOf } from "../../test/support/hosted-cluster/traffic/report.js";
import type { Show } from "../report/show.js";

/** What a balancer and clients need to notice that a pod is gone. */
const NOTICED_WITHIN_MS = 1_000;

const NAMES: Readonly<Record<string, string>> = {
  write: "writes",
  exec: "sessions",
  socks5: "by SOCKS5",
  aggregated: "of the workers' API",
  "plane-api": "of the control plane's",
};

/** Of a planned change: one failed call is a failure, and thrown. */
export function conclude(report: Report, markedAt: number, show: Show): void {
  tell(report, show);
  const count = failuresOf(report).length;
  if (count > 0) throw failed(`${count} failed`, report, markedAt, show);
  const apart = Object.values(report).reduce((sum, counted) => sum + counted.apart.length, 0);
  const words = apart === 0 ? "" : `; sessions cut on a pod that went: ${apart}`;
  show.result(`${servedOf(report)} calls served, 0 failed${words}`);
}

/** What was on its way is lost, and nothing that begins when everybody can know. */
export function concludeKill(report: Report, at: { readonly markedAt: number; readonly killedAt: number }, show: Show) {
  tell(report, show);
  const failures = failuresOf(report);
  const late = failures.filter((call) => call.at > at.killedAt + NOTICED_WITHIN_MS).length;
  if (late > 0) throw failed(`${late} failed that began more than a second later`, report, at.markedAt, show);
  show.result(`${servedOf(report)} calls served, ${failures.length} failed of those on their way, 0 that began later`);
}

function failed(what: string, report: Report, markedAt: number, show: Show): Error {
  for (const line of reportText(report, markedAt).trimEnd().split("\n")) show.note(line);
  return new Error(`${servedOf(report)} calls served, ${what}`);
}

function tell(report: Report, show: Show): void {
  const kinds = Object.entries(report).map(([kind, { served }]) => `${served} ${NAMES[kind] ?? kind}`);
  show.note(`served: ${kinds.join(", ")}`);
  show.figures({ served: servedOf(report), failed: failuresOf(report).length });
}
