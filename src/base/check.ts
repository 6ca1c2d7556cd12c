/** A question about a bridge or a hosted control plane, and what came of asking it. */
import { DrawbridgeError, messageOf } from "./errors/error.js";

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

/** `Given` is what it is asked with: the signal that calls it off, unless nobody does. */
export interface Check<Given = AbortSignal> {
  /** Stable, for scripts. */
  readonly id: string;
  readonly title: string;
  /** Ends soon after the signal fires. */
  run(given: Given): Promise<Outcome>;
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

/** Thrown where a check cannot go on: the evidence, with what to do about it. */
export class CheckFailure extends Error {
  readonly remedy: string;

  constructor(evidence: string, remedy: string) {
    super(evidence);
    this.remedy = remedy;
  }
}

/** A check that throws has failed, and whatever it threw is the evidence. */
export function failureOf(reason: unknown): Outcome {
  const knowsRemedy = reason instanceof CheckFailure || reason instanceof DrawbridgeError;
  return fail(messageOf(reason), knowsRemedy ? reason.remedy : "Run it again with --output json and report it.");
}
