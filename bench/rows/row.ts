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

/** What ours is held to: a ratio to the rival in the same round, or a plain limit. */
export interface Bar {
  readonly metric: string;
  readonly against: "rival" | "limit";
  readonly rule: "at least" | "at most";
  readonly value: number;
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
  /** Of how many things the cost is shown; such rows are measured in one round only. */
  readonly growth?: { readonly of: string; readonly count: number };
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

export const ratio = (metricKey: string, rule: Bar["rule"], value: number): Bar => ({
  metric: metricKey,
  against: "rival",
  rule,
  value,
});

export const limit = (metricKey: string, value: number): Bar => ({
  metric: metricKey,
  against: "limit",
  rule: "at most",
  value,
});
