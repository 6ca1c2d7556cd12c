/** Runs checks on the facts of a source. */
import type { ErrorCode } from "../../base/errors/catalogue.js";
import { messageOf } from "../../base/errors/error.js";
import { CheckFailure, coded, type Finding, failed, failureOf, type Judgement, skipped } from "../../base/finding.js";
import { plainText } from "../../base/text.js";
import { type Check, type FactName, type FactSource, type Gatherer, Unavailable, unavailable } from "./check.js";
import type { Facts } from "./facts.js";

export interface RunOptions {
  /** Calls off the whole run: what was not checked by then has failed. */
  readonly signal?: AbortSignal;
  /** For each check, the gathering of its facts included. */
  readonly deadlineMs?: number;
  /** The code of a check that threw; if undefined, that of the error. */
  readonly uncheckedCode?: ErrorCode;
  /** How many checks run at a time. */
  readonly atOnce?: number;
}

const DEADLINE_MS = 60_000;

/** In the order of the checks. Never rejects: whatever happens is a finding. */
export async function runChecks(
  checks: readonly Check[],
  source: FactSource | Gatherer,
  options: RunOptions = {},
): Promise<Finding[]> {
  const { signal = new AbortController().signal, deadlineMs = DEADLINE_MS, atOnce = 1 } = options;
  const gatherer = "get" in source ? (source as Gatherer) : gathererOf(source as FactSource, signal);
  const applicable = checks.filter(({ needs }) => needs.every((name) => gatherer.has(name)));
  const findings: Finding[][] = [];
  const waiting = [...applicable.entries()];
  const worker = async (): Promise<void> => {
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      const [index, check] = next;
      const began = performance.now();
      const judgements = await judge(check, gatherer, signal, { ...options, deadlineMs });
      const durationMs = Math.round(performance.now() - began);
      findings[index] = judgements.map((each) => ({ check: check.id, about: check.about, ...plain(each), durationMs }));
    }
  };
  await Promise.all(Array.from({ length: Math.min(atOnce, applicable.length) }, worker));
  return findings.flat();
}

/** For a command that needs facts itself, or runs checks in several steps on one source. */
export function gathererOf(source: FactSource, signal: AbortSignal): Gatherer {
  const gathered = new Map<FactName, Promise<unknown>>();
  const gatherer: Gatherer = {
    signal,
    has: (name) => source[name] !== undefined,
    get<Name extends FactName>(name: Name): Promise<Facts[Name]> {
      let fact = gathered.get(name);
      if (fact === undefined) {
        const gather = source[name] ?? (() => unavailable(`${name} is not known here`));
        fact = (async () => gather(gatherer))();
        // Whoever asks next gets the same rejection.
        fact.catch(() => {});
        gathered.set(name, fact);
      }
      return fact as Promise<Facts[Name]>;
    },
  };
  return gatherer;
}

async function judge(
  check: Check,
  gatherer: Gatherer,
  whole: AbortSignal,
  { deadlineMs, uncheckedCode }: { readonly deadlineMs: number; readonly uncheckedCode?: ErrorCode },
): Promise<readonly Judgement[]> {
  if (whole.aborted) return [calledOff(whole)];
  const deadline = AbortSignal.timeout(deadlineMs);
  const signal = AbortSignal.any([whole, deadline]);
  try {
    const judged = gatherAndJudge(check, gatherer, check.cleansUp ? whole : signal);
    return await (check.cleansUp ? judged : Promise.race([aborted(signal), judged]));
  } catch (reason) {
    // A failure that the check itself reports counts, even after the deadline.
    if (reason instanceof CheckFailure) return [failureOf(reason)];
    if (reason instanceof Unavailable) return reason.message === "" ? [] : [skipped(reason.message, reason.remedy)];
    if (whole.aborted) return [calledOff(whole)];
    if (deadline.aborted) {
      const remedy = "Find out who does not answer; the other findings may tell.";
      return [failed(`${check.id} could not be checked in ${deadlineMs / 1000} s`, remedy)];
    }
    const failure = failureOf(reason);
    const message = `${check.id} could not be checked: ${failure.message}`;
    return [uncheckedCode === undefined ? { ...failure, message } : coded(uncheckedCode, message)];
  }
}

async function gatherAndJudge(check: Check, gatherer: Gatherer, signal: AbortSignal): Promise<readonly Judgement[]> {
  const facts: Partial<Record<FactName, unknown>> = {};
  const needed = check.needs.map((name) => [name, gatherer.get(name)] as const);
  for (const [name, fact] of needed) facts[name] = await fact;
  for (const name of check.uses ?? []) facts[name] = await gatherer.get(name).catch(undefinedIfUnavailable);
  return [(await check.judge(facts as Parameters<Check["judge"]>[0], signal)) ?? []].flat();
}

function undefinedIfUnavailable(reason: unknown): undefined {
  if (!(reason instanceof Unavailable)) throw reason;
}

function calledOff(signal: AbortSignal): Judgement {
  const remedy = "Run it again, with a longer --timeout if that was the reason.";
  return failed(`not checked: ${messageOf(signal.reason)}`, remedy);
}

function aborted(signal: AbortSignal): Promise<never> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason), { once: true }));
}

/** Parts of it were written by nodes, webhooks and servers, and are shown in terminals, logs and XML. */
function plain(judgement: Judgement): Judgement {
  const { message, evidence, remedy, subject } = judgement;
  return {
    ...judgement,
    message: plainText(message),
    evidence: evidence.map((line) => plainText(line)),
    remedy: plainText(remedy),
    ...(subject === undefined ? {} : { subject: plainText(subject) }),
  };
}
