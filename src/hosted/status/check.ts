/** A question about a hosted control plane, and what came of asking it. */
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import { plainText } from "../../wire/plain-text.js";

export type Status = "pass" | "fail" | "skip";

export interface Outcome {
  readonly status: Status;
  /** What was seen. */
  readonly evidence: string;
  /** What to do; empty when there is nothing. */
  readonly remedy: string;
  readonly details?: Readonly<Record<string, unknown>>;
}

export interface Check {
  /** Stable, for scripts. */
  readonly id: string;
  readonly title: string;
  run(): Promise<Outcome>;
}

export interface Result extends Outcome {
  readonly id: string;
  readonly title: string;
}

type Details = Outcome["details"];

export const pass = (evidence: string, details?: Details): Outcome => outcome("pass", evidence, "", details);
export const fail = (evidence: string, remedy: string, details?: Details): Outcome =>
  outcome("fail", evidence, remedy, details);
export const skip = (evidence: string, remedy = "", details?: Details): Outcome =>
  outcome("skip", evidence, remedy, details);

function outcome(status: Status, evidence: string, remedy: string, details?: Details): Outcome {
  return { status, evidence, remedy, ...(details === undefined ? {} : { details }) };
}

/** Never throws: whatever happens is a result. */
export async function runCheck({ id, title, run }: Check): Promise<Result> {
  const found = await run().catch((reason: unknown) => {
    const remedy = reason instanceof DrawbridgeError ? reason.remedy : "Run it again with --output json and report it.";
    return fail(messageOf(reason), remedy);
  });
  // Part of it was written by nodes, webhooks and servers, and is shown in terminals.
  return { id, title, ...found, evidence: plainText(found.evidence) };
}
