import { table } from "../../../../src/base/text.js";
import { type Call, isStatus, type Line } from "./calls.js";

export interface Counted {
  served: number;
  readonly failed: Call[];
  /** Sessions that were open on something which the scene took away by name. */
  readonly apart: Call[];
  longestMs: number;
}

/** By kind of call. */
export type Report = Readonly<Record<string, Counted>>;

/** More are not kept: a scene that fails so many has failed. */
const KEPT = 2_000;

/** Counts the calls that began since the last mark, and knows from when on all have ended. */
export class Tally {
  #from = 0;
  readonly #kinds = new Map<string, Counted>();
  readonly #oldest = new Map<string, number>();

  mark(now: number): void {
    this.#from = now;
    this.#kinds.clear();
  }

  take(line: Line): void {
    if (isStatus(line)) {
      this.#oldest.set(line.source, line.oldest);
      return;
    }
    if (line.at < this.#from) return;
    const counted = this.#of(line.kind);
    counted.longestMs = Math.max(counted.longestMs, line.tookMs);
    if (line.said === undefined) counted.served++;
    else if (counted.failed.length < KEPT) counted.failed.push(line);
  }

  served(kind: string): number {
    return this.#kinds.get(kind)?.served ?? 0;
  }

  /** Whether every call that any of these began before then has ended. */
  hasAll(sources: readonly string[], before: number): boolean {
    return sources.every((source) => (this.#oldest.get(source) ?? 0) >= before);
  }

  /** `taken`: names of kube-apiserver pods and nodes that were taken away while sessions may have been open there. */
  report(taken: readonly string[] = []): Report {
    const isApart = ({ kind, by = [], node = "" }: Call) =>
      kind === "exec" && [...by, node].some((name) => taken.includes(name));
    return Object.fromEntries(
      [...this.#kinds].map(([kind, { failed, ...counted }]) => [
        kind,
        { ...counted, failed: failed.filter((call) => !isApart(call)), apart: failed.filter(isApart) },
      ]),
    );
  }

  #of(kind: string): Counted {
    const known = this.#kinds.get(kind) ?? { served: 0, failed: [], apart: [], longestMs: 0 };
    this.#kinds.set(kind, known);
    return known;
  }
}

export const failuresOf = (report: Report): Call[] => Object.values(report).flatMap(({ failed }) => failed);

export const servedOf = (report: Report): number => Object.values(report).reduce((sum, { served }) => sum + served, 0);

/** A table of the kinds, and the first failures of each in their own words. `began`: what the seconds count from. */
export function reportText(report: Report, began: number, shown = 5): string {
  const rows = Object.entries(report).map(([kind, { served, failed, apart, longestMs }]) => [
    ...[kind, String(served), String(failed.length), String(apart.length), `${longestMs} ms`],
  ]);
  const words = Object.values(report).flatMap(({ failed, apart }) => [
    ...failed.slice(0, shown).map((call) => sentence(call, began)),
    ...apart.slice(0, shown).map((call) => `apart: ${sentence(call, began)}`),
  ]);
  const all = table([["calls", "served", "failed", "apart", "longest"], ...rows]);
  return words.length === 0 ? all : `${all}${words.join("\n")}\n`;
}

function sentence({ kind, at, tookMs, said, by = [] }: Call, began: number): string {
  const pods = by.length === 0 ? "" : ` by ${by.join(", ")}`;
  return `${kind} after ${((at - began) / 1000).toFixed(2)} s${pods}, ${tookMs} ms: ${said}`;
}
