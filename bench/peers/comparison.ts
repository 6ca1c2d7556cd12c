import type { Machine } from "../results/machine.js";
import { type Spread, spread } from "../results/statistics.js";
import type { Fault } from "../rows/row.js";
import type { memory, PeerRow } from "./rows.js";
import { isSameKind, type Kind } from "./tunnel.js";

/** What a run has found, as docs/comparison.json keeps it: everything else is drawn and written from it. */
export interface Comparison {
  readonly machine: Machine;
  readonly rounds: number;
  readonly seconds: number;
  readonly minutes: number;
  readonly contenders: readonly Contender[];
  /** A sentence for each that could not be started. */
  readonly leftOut: readonly string[];
  readonly rows: readonly ComparedRow[];
  readonly faults: readonly SeenFault[];
}

export interface Contender {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly kind?: Kind;
}

export interface ComparedRow extends Omit<typeof memory, "onlyTunnels" | "breaks" | "better"> {
  readonly better: PeerRow["better"];
  /** By contender, its values in each round; null for a round that failed. */
  readonly values: Readonly<Record<string, readonly (Readonly<Record<string, number>> | null)[]>>;
}

export interface SeenFault extends Fault {
  readonly row: string;
  readonly name: string;
  readonly round: number;
}

export const OURS = "drawbridge";

export const isTunnel = ({ kind }: Contender): boolean => kind !== undefined;

export function spreadOf({ values }: ComparedRow, name: string, key: string): Spread | undefined {
  return spread((values[name] ?? []).flatMap((round) => round?.[key] ?? []));
}

export interface Place {
  /** 1 for the first. */
  readonly place: number;
  readonly of: number;
  readonly first: Contender;
  /** What ours is of the first one's, whichever is better. */
  readonly share: number;
}

/** Where ours stands by a row's first metric; undefined when it was not measured. */
export function placeOf(row: ComparedRow, among: readonly Contender[]): Place | undefined {
  const [{ key }] = row.metrics;
  const ranked = among
    .flatMap((contender) => {
      const median = spreadOf(row, contender.name, key)?.median;
      return median === undefined ? [] : { contender, median };
    })
    .sort((a, b) => (row.better === "more" ? b.median - a.median : a.median - b.median));
  const ours = ranked.find(({ contender }) => contender.name === OURS);
  const first = ranked[0];
  if (ours === undefined || first === undefined) return undefined;
  const ahead = ranked.filter(({ median }) => (row.better === "more" ? median > ours.median : median < ours.median));
  return {
    place: ahead.length + 1,
    of: ranked.length,
    // Equal is as good as first.
    first: ahead.length === 0 ? ours.contender : first.contender,
    share: ours.median / first.median,
  };
}

export const sameKindOf = ({ contenders }: Comparison): Contender[] => contenders.filter(isSameKind);
