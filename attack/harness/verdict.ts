import type { Attack } from "../attack.js";
import type { Round } from "./round.js";

/** What became of an attack, as the table shows it. */
export interface Verdict {
  readonly name: string;
  readonly against: string;
  /** Empty: the attack was withstood. */
  readonly failures: readonly string[];
  /** Why the attack was not made. */
  readonly skipped?: string;
  readonly requests: number;
  readonly p99Ms: number;
  /** The same while the attacker's traffic went to the sink. */
  readonly sinkP99Ms: number | undefined;
  readonly peakMiB: number | undefined;
  readonly boundMiB: number;
  readonly connections: number;
  readonly ended: number;
  readonly held: number;
  readonly megabytes: number;
  readonly notes: readonly string[];
  /** Of every pair of rounds: with the attack, with the sink. */
  readonly pairs: readonly (readonly [p99Ms: number, sinkP99Ms: number | undefined])[];
}

/** How much slower than with the sink the victim may become. */
const SLOWER = 3;
/** Below this the scheduler of a busy machine with two cores decides, not the attack. */
const FLOOR_MS = 50;
/** So many times slower than allowed is no noise. */
const STANDSTILL = 10;

/** A round on the sink, and the round on the target that followed it. */
export interface Pair {
  readonly sunk: Round | undefined;
  readonly attacked: Round;
}

/**
 * In every pair so far the victim was much slower than with the sink: what an attack does to it, it does every time, and
 * what a busy machine does, it does not. A victim that stood still is too slow in any pair.
 */
export function tooSlow(pairs: readonly Pair[]): boolean {
  return (
    pairs.length > 0 && (pairs.every((pair) => slowdown(pair) > 1) || pairs.some((pair) => slowdown(pair) > STANDSTILL))
  );
}

export function judge(attack: Attack, pairs: readonly Pair[], mustEnd: boolean, broken?: string): Verdict {
  const attacked = pairs.map((pair) => pair.attacked);
  const failures = broken === undefined ? [] : [broken];
  for (const { measured, newcomer, report, forbidden } of attacked) {
    if (measured.failures.length > 0) failures.push(`the victim was not answered: ${measured.failures[0]}`);
    if (newcomer !== undefined) failures.push(`the newcomer did not get in: ${newcomer}`);
    failures.push(...report.violations);
    if (forbidden > 0) failures.push(`forbidden endpoints were reached ${forbidden} times`);
  }
  for (const { sunk } of pairs) {
    const why = sunk?.newcomer ?? sunk?.measured.failures[0];
    if (why !== undefined) failures.push(`already the run with the sink failed: ${why}`);
  }
  const slow = tooSlow(pairs);
  // The pair that decides: the worst one where one was too slow, else the best.
  const shown = pairs.toSorted((one, other) => (slowdown(one) - slowdown(other)) * (slow ? -1 : 1))[0];
  const p99Ms = shown ? p99(shown.attacked) : Number.NaN;
  const sinkP99Ms = shown?.sunk && p99(shown.sunk);
  if (slow) failures.push(`the victim's p99 was ${p99Ms.toFixed(0)} ms, ${sinkP99Ms?.toFixed(0)} ms with the sink`);
  const peakMiB = highest(attacked.map((round) => round.peakMiB));
  if (peakMiB !== undefined && peakMiB > attack.boundMiB) {
    failures.push(`${peakMiB.toFixed(0)} MiB resident, ${attack.boundMiB} are the bound`);
  }
  const total = (read: (round: Round) => number) => attacked.reduce((sum, round) => sum + read(round), 0);
  const [connections, ended] = [total(({ report }) => report.connections), total(({ report }) => report.ended)];
  const held = total(({ report }) => report.held);
  if (connections === 0 && broken === undefined) failures.push("the attacker made no connection");
  if (mustEnd && held > 0) {
    failures.push(`${held} of ${connections} of the attacker's connections were not ended`);
  }
  return {
    ...{ name: attack.name, against: attack.against, failures: [...new Set(failures)] },
    requests: total(({ measured }) => measured.answered),
    ...{ p99Ms, sinkP99Ms, peakMiB, boundMiB: attack.boundMiB, connections, ended, held },
    megabytes: total(({ report }) => report.bytes) / 1e6,
    notes: [...new Set(attacked.flatMap(({ report }) => report.notes))],
    pairs: pairs.map((pair) => [p99(pair.attacked), pair.sunk && p99(pair.sunk)]),
  };
}

const allowed = (sinkP99Ms: number): number => Math.max(FLOOR_MS, SLOWER * sinkP99Ms);

/** Above 1: slower than allowed. */
const slowdown = ({ sunk, attacked }: Pair): number => (sunk ? p99(attacked) / allowed(p99(sunk)) : 0);

function p99({ measured: { latencies } }: Round): number {
  return latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * 0.99))] ?? Number.NaN;
}

function highest(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length > 0 ? Math.max(...known) : undefined;
}
