/** A question about a bridge, and what came of asking it. */
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import { plainText } from "../../wire/plain-text.js";

export type Status = "pass" | "fail" | "skip";

export interface Outcome {
  readonly status: Status;
  /** What was seen. */
  readonly evidence: string;
  /** What to do; empty when there is nothing. */
  readonly remedy: string;
  /** The same for scripts. */
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Check {
  /** Stable, for scripts. */
  readonly id: string;
  readonly title: string;
  /** Ends soon after the signal fires. */
  run(signal: AbortSignal): Promise<Outcome>;
}

export interface Result extends Outcome {
  readonly id: string;
  readonly title: string;
  readonly durationMs: number;
}

type Details = Outcome["details"];

export const pass = (evidence: string, details?: Details): Outcome => outcome("pass", evidence, "", details);
export const fail = (evidence: string, remedy: string, details?: Details): Outcome =>
  outcome("fail", evidence, remedy, details);
export const skip = (evidence: string, remedy = ""): Outcome => outcome("skip", evidence, remedy);

function outcome(status: Status, evidence: string, remedy: string, details?: Details): Outcome {
  return { status, evidence, remedy, ...(details === undefined ? {} : { details }) };
}

/** Thrown where a check cannot go on: the evidence, with what to do about it. */
export class CheckFailure extends Error {
  readonly remedy: string;

  constructor(evidence: string, remedy: string) {
    super(evidence);
    this.remedy = remedy;
  }
}

/** In order, at most `atOnce` at a time. Never throws: whatever happens is a result. */
export async function runChecks(checks: readonly Check[], signal: AbortSignal, atOnce = 1): Promise<Result[]> {
  const results: Result[] = [];
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

async function runCheck(check: Check, signal: AbortSignal): Promise<Result> {
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
    if (reason instanceof CheckFailure) return fail(reason.message, reason.remedy);
    if (signal.aborted) return calledOff(signal);
    const remedy = reason instanceof DrawbridgeError ? reason.remedy : "Run it again with --output json and report it.";
    return fail(messageOf(reason), remedy);
  }
}

function calledOff(signal: AbortSignal): Outcome {
  return fail(`not looked at: ${messageOf(signal.reason)}`, "Run it again, with a longer --timeout if that was it.");
}
