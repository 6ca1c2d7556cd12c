/** The one result of every diagnosis: doctor, workers doctor, hosted status, bootstrap verify, analyze and inject --check. */
import { at } from "./at.js";
import { type ErrorCode, remedies } from "./errors/catalogue.js";
import { DrawbridgeError, messageOf } from "./errors/error.js";

/** Worst first. Only `failed` makes a command fail. */
export const findingStates = ["failed", "warning", "ok", "skipped"] as const;
export type FindingState = (typeof findingStates)[number];

/** How sure it is that a failed finding explains what was observed; most likely first. */
export const likelihoods = ["certain", "likely", "possible"] as const;
export type Likelihood = (typeof likelihoods)[number];

/** A repair that needs nobody's consent: it takes away nothing that runs, and applying it twice is applying it once. */
export interface Fix {
  /** In the imperative: "write ... again". */
  readonly what: string;
  /** Resolves to a sentence about the result. */
  apply(): Promise<string>;
}

/** What a check reports; the runner adds the check's id. */
export interface Judgement {
  readonly state: FindingState;
  /** One sentence without its full stop. */
  readonly message: string;
  /** The same in a few words, for a line that holds several; the message where it is absent. */
  readonly short?: string | undefined;
  /** Lines that prove the message, each with the place it was read: `file:line: text`. */
  readonly evidence: readonly string[];
  /** What to do, with the exact flag or line; empty when there is nothing. */
  readonly remedy: string;
  /** The pool, node, webhook or file concerned; absent when it is the whole installation. */
  readonly subject?: string | undefined;
  readonly code?: ErrorCode | undefined;
  readonly likelihood?: Likelihood | undefined;
  readonly fix?: Fix | undefined;
  /** The facts of the message as fields, for scripts. */
  readonly details?: Readonly<Record<string, unknown>> | undefined;
}

export interface Finding extends Judgement {
  /** Id of the check, stable for scripts. */
  readonly check: string;
  /** What the check asks, for reports. */
  readonly about: string;
  /** How long the check took. */
  readonly durationMs?: number;
}

const judgement =
  (state: FindingState) =>
  (message: string, remedy: string, ...evidence: string[]): Judgement => ({ state, message, evidence, remedy });

export const warning = judgement("warning");
export const failed = judgement("failed");
export const ok = (message: string, ...evidence: string[]): Judgement => judgement("ok")(message, "", ...evidence);
export const skipped = (message: string, remedy = ""): Judgement => judgement("skipped")(message, remedy);

/** A failure with a code, and the remedy of the catalogue. */
export const coded = (code: ErrorCode, message: string, ...evidence: string[]): Judgement => ({
  ...failed(message, remedies[code], ...evidence),
  code,
});

/** A failed finding that may explain others. */
export function cause(likelihood: Likelihood, message: string, remedy: string, evidence: readonly string[]): Judgement {
  return { ...failed(message, remedy, ...evidence), likelihood };
}

/** Thrown where a check cannot go on: a message together with its remedy. */
export class CheckFailure extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

/** What the system says of a connection that did not come about. */
const BY_ERRNO: Readonly<Record<string, ErrorCode>> = {
  ...{ ECONNREFUSED: "DB_CONNECT_REFUSED", ETIMEDOUT: "DB_CONNECT_TIMEOUT" },
  ...{ EHOSTUNREACH: "DB_CONNECT_UNREACHABLE", ENETUNREACH: "DB_CONNECT_UNREACHABLE" },
  ...{ ENOTFOUND: "DB_NAME_UNKNOWN", EAI_AGAIN: "DB_NAME_SERVER" },
};

/** The judgement on a check that threw. */
export function failureOf(reason: unknown): Judgement {
  const message = messageOf(reason).split("\n")[0]!.replace(/\.$/, "");
  if (reason instanceof CheckFailure) return failed(message, reason.remedy);
  const code = reason instanceof DrawbridgeError ? reason.code : BY_ERRNO[String(at(reason, "code"))];
  if (code !== undefined) return coded(code, message);
  return failed(message, "Run the command again with --output json and report it.");
}

export const hasFailed = (findings: readonly Finding[]): boolean => findings.some(({ state }) => state === "failed");
