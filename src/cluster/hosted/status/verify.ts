/** Everything there is to ask, in order. */
import type { Result } from "../../../base/check.js";
import { callingChecks } from "./api-calls.js";
import { readingChecks, type Subject } from "./checks.js";
import type { Condition } from "./conditions.js";
import { consequences } from "./consequences.js";
import { runCheck } from "./run-check.js";

export interface Verdict {
  readonly ok: boolean;
  readonly results: readonly Result[];
  /** As HyperShift would write them. */
  readonly conditions: readonly Condition[];
  /** What stops working; empty when nothing failed. */
  readonly stopsWorking: readonly string[];
}

/** Only reads. */
export async function status(subject: Subject): Promise<Verdict> {
  return verdictOf(await run(readingChecks(subject)));
}

/** Also lets the kube-apiserver call webhooks (dry run) and aggregated APIs. */
export async function verify(subject: Subject): Promise<Verdict> {
  const results = await run(readingChecks(subject));
  const calling = await callingChecks(subject.clusters.hosted).catch((reason: unknown) => [
    { id: "calls", title: "Webhooks and aggregated APIs", run: () => Promise.reject(reason as Error) },
  ]);
  return verdictOf([...results, ...(await run(calling))]);
}

async function run(checks: ReturnType<typeof readingChecks>): Promise<Result[]> {
  const results: Result[] = [];
  for (const check of checks) results.push(await runCheck(check));
  return results;
}

function verdictOf(results: readonly Result[]): Verdict {
  return {
    ok: results.every((result) => result.status !== "fail"),
    results,
    conditions: results.flatMap(({ details }) =>
      details?.condition === undefined ? [] : [details.condition as Condition],
    ),
    stopsWorking: consequences(results),
  };
}
