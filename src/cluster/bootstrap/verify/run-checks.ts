/** Asks the checks of a bridge. */
import { type Check, CheckFailure, fail, failureOf, type Outcome, type Result } from "../../../base/check.js";
import { messageOf } from "../../../base/errors/error.js";
import { plainText } from "../../../base/text.js";

export interface TimedResult extends Result {
  readonly durationMs: number;
}

/** In order, at most `atOnce` at a time. Never throws: whatever happens is a result. */
export async function runChecks(checks: readonly Check[], signal: AbortSignal, atOnce = 1): Promise<TimedResult[]> {
  const results: TimedResult[] = [];
  const waiting = [...checks.entries()];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, check] = next;
      results[index] = await runCheck(check, signal);
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, checks.length) }, worker));
  return results;
}

async function runCheck(check: Check, signal: AbortSignal): Promise<TimedResult> {
  const { id, title } = check;
  const began = performance.now();
  const { evidence, remedy, ...rest } = await ask(check, signal);
  const durationMs = Math.round(performance.now() - began);
  // Part of it was written by webhooks, nodes and servers, and is shown in terminals and logs.
  return {
    id: plainText(id),
    title: plainText(title),
    ...rest,
    evidence: plainText(evidence),
    remedy: plainText(remedy),
    durationMs,
  };
}

async function ask(check: Check, signal: AbortSignal): Promise<Outcome> {
  if (signal.aborted) return calledOff(signal);
  try {
    return await check.run(signal);
  } catch (reason) {
    // What the check itself found counts, also when the time is over.
    return signal.aborted && !(reason instanceof CheckFailure) ? calledOff(signal) : failureOf(reason);
  }
}

function calledOff(signal: AbortSignal): Outcome {
  return fail(`not looked at: ${messageOf(signal.reason)}`, "Run it again, with a longer --timeout if that was it.");
}
