/**
 * How a diagnosis is made. A *source* (this host, a host by SSH, a bundle, a bootstrap.ign, a cluster, an admin port)
 * knows how to gather *facts*; *checks* judge facts and know nothing of where they come from; a command is a source and
 * a selection of checks, run by `runChecks` and shown by report.ts.
 *
 * To add a check:
 * 1. Look into facts.ts for the facts that it needs. If one is missing, declare it there and gather it in every source
 *    that can: a member of the source, called at most once and only when a check, or another fact, asks for it. A source
 *    that cannot gather a fact this time calls `unavailable(reason, remedy)`; one that never can leaves the member out.
 * 2. Write `defineCheck({ id, about, needs, uses, judge })` in checks/. `judge` is pure: it is called with the facts
 *    and returns `ok`, `warning`, `failed` or `skipped` (base/finding.ts) for each thing that it looked at. Only checks
 *    whose question is an action (calling a webhook, say) are asynchronous; they end soon after the signal fires.
 * 3. Add it to the selection of each command that should ask it, causes before their consequences.
 *
 * The runner skips a check whose source leaves out one of its `needs`, reports `skipped` with the reason when one is
 * unavailable, and turns whatever is thrown into a failed finding.
 */
import type { Judgement } from "../../base/finding.js";
import type { Facts } from "./facts.js";

export type FactName = keyof Facts;

/** A fact could not be gathered this time. With an empty message its checks say nothing: another check reports it. */
export class Unavailable extends Error {
  readonly remedy: string;

  constructor(message: string, remedy: string) {
    super(message);
    this.remedy = remedy;
  }
}

export function unavailable(reason: string, remedy = ""): never {
  throw new Unavailable(reason, remedy);
}

/** Gathers each fact of a source at most once. */
export interface Gatherer {
  /** Fires when the whole run is called off. */
  readonly signal: AbortSignal;
  has(name: FactName): boolean;
  /** Rejects with what the source threw, or Unavailable when the source leaves the fact out. */
  get<Name extends FactName>(name: Name): Promise<Facts[Name]>;
}

export type FactSource = {
  readonly [Name in FactName]?: (facts: Gatherer) => Facts[Name] | Promise<Facts[Name]>;
};

/** Nothing to report, one thing or several. */
type Judged = undefined | Judgement | readonly Judgement[];

export interface Check<Need extends FactName = FactName, Use extends FactName = FactName> {
  /** Stable, for scripts. */
  readonly id: string;
  /** What it asks, as a statement that is true when all is well. */
  readonly about: string;
  /** Facts without which there is nothing to judge. */
  readonly needs: readonly Need[];
  /** Facts that are undefined where they are unavailable. */
  readonly uses?: readonly Use[];
  /** Whether it removes what it made when the signal fires: then its end is awaited, however long it takes. */
  readonly cleansUp?: boolean;
  judge(
    facts: { readonly [Name in Need]: Facts[Name] } & { readonly [Name in Use]: Facts[Name] | undefined },
    signal: AbortSignal,
  ): Judged | Promise<Judged>;
}

/** Infers the type of `facts` from `needs` and `uses`. */
export function defineCheck<const Need extends FactName, const Use extends FactName = never>(
  check: Check<Need, Use>,
): Check {
  return check as unknown as Check;
}
