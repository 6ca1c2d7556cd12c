import type { FrontendKind } from "../../test/support/processes/server.js";
import type { ContenderName } from "../contenders/contender.js";
import type { Fixture } from "../contenders/fixture.js";

/** One column of a row. */
export interface Metric {
  readonly key: string;
  readonly label: string;
  readonly unit: string;
  readonly digits: number;
}

/** A number, and what it is about: a ratio to the rival in the same round, a plain limit, or a ratio to ours in another row. */
export interface Aim {
  readonly against: "rival" | "limit" | { readonly row: string };
  readonly value: number;
}

/** What ours is held to. */
export interface Bar extends Aim {
  readonly metric: string;
  readonly rule: "at least" | "at most";
  /** What would be better still; missing it is no failure. */
  readonly goal?: Aim;
}

export interface Rivals {
  readonly ours: ContenderName;
  readonly theirs: ContenderName;
}

export const rivalsOf = ({ rivals }: Row): Rivals => rivals ?? { ours: "ours/ours", theirs: "Go/Go" };

/** What is wrong whatever the speed. */
export interface Fault {
  readonly kind: "wrong bytes" | "frozen" | "not serving again" | "memory" | "failed";
  readonly text: string;
}

/** One run. A value of Infinity means that it never came to an end: frozen. */
export interface Measurement {
  readonly values: Readonly<Record<string, number>>;
  readonly faults: readonly Fault[];
}

export interface Row {
  readonly name: string;
  /** What is done, in one sentence. */
  readonly about: string;
  readonly frontend: FrontendKind;
  readonly contenders: readonly ContenderName[];
  readonly metrics: readonly Metric[];
  /** Whom the bars are about and whom they are measured against; ours/ours and Go/Go unless said. */
  readonly rivals?: Rivals;
  /** None where figures are only shown. */
  readonly bars: readonly Bar[];
  /** Of how many things the cost is shown. */
  readonly growth?: { readonly of: string; readonly count: number };
  /** Takes long and differs little: measured in the first round only. */
  readonly once?: true;
  /** Nothing but waiting is done, so all contenders may do it at the same time. */
  readonly together?: true;
  measure(run: Run): Promise<Measurement>;
}

export interface Run {
  readonly fixture: Fixture;
  readonly name: ContenderName;
  readonly frontend: FrontendKind;
  readonly seconds: number;
}

export const metric = (key: string, label: string, unit: string, digits = 0): Metric => ({ key, label, unit, digits });

const bar = (metric: string, rule: Bar["rule"], against: Aim["against"], value: number, goal?: number): Bar => ({
  ...{ metric, rule, against, value },
  ...(goal !== undefined && { goal: { against, value: goal } }),
});

export const ratio = (metricKey: string, rule: Bar["rule"], value: number, goal?: number): Bar =>
  bar(metricKey, rule, "rival", value, goal);

export const limit = (metricKey: string, value: number, goal?: number): Bar =>
  bar(metricKey, "at most", "limit", value, goal);

/** At most so many times what it is in another row. */
export const timesRow = (metricKey: string, row: string, value: number, goal?: number): Bar =>
  bar(metricKey, "at most", { row }, value, goal);
