import { expect, test } from "vitest";
import { type Attack, BOUND_MIB } from "../attack.js";
import type { Round } from "./round.js";
import { judge, tooSlow } from "./verdict.js";

const attack: Attack = {
  ...{ name: "an-attack", against: "somebody", description: "", fixture: "server", boundMiB: BOUND_MIB },
  run: () => Promise.resolve(),
};

function round(latencyMs: number, changes: Partial<Round> = {}): Round {
  return {
    measured: { answered: 100, failures: [], latencies: Array<number>(100).fill(latencyMs) },
    report: { connections: 1, ended: 0, held: 1, bytes: 0, notes: [], violations: [] },
    ...{ newcomer: undefined, forbidden: 0, peakMiB: 60 },
    ...changes,
  };
}

const failuresOf = (attacked: Round, sunk = round(10), mustEnd = false): readonly string[] =>
  judge(attack, [{ sunk, attacked }], mustEnd).failures;

test("withstands what changes nothing", () => {
  expect(failuresOf(round(12))).toEqual([]);
});

test.each<[string, Round, string]>([
  ["a request without an answer", round(1, { measured: { answered: 1, failures: ["late"], latencies: [1] } }), "late"],
  ["a newcomer outside", round(1, { newcomer: "refused" }), "the newcomer did not get in: refused"],
  ["an endpoint that is forbidden", round(1, { forbidden: 2 }), "forbidden endpoints were reached 2 times"],
  ["too much memory", round(1, { peakMiB: BOUND_MIB + 1 }), `${BOUND_MIB + 1} MiB resident`],
  [
    "something forbidden",
    round(1, { report: { connections: 1, ended: 0, held: 0, bytes: 0, notes: [], violations: ["reached"] } }),
    "reached",
  ],
  [
    "an attacker that was never there",
    round(1, { report: { connections: 0, ended: 0, held: 0, bytes: 0, notes: [], violations: [] } }),
    "the attacker made no connection",
  ],
])("fails for %s", (_what, attacked, text) => {
  expect(failuresOf(attacked).join()).toContain(text);
});

test("fails for connections that are held where they must be ended", () => {
  expect(failuresOf(round(1), round(1), true)).toEqual(["1 of 1 of the attacker's connections were not ended"]);
});

test("compares the victim's p99 with the sink's, above 50 ms only, and needs one pair that is good", () => {
  const [slow, good] = [round(200), round(20)];
  expect(tooSlow([{ sunk: round(10), attacked: slow }])).toBe(true);
  expect(tooSlow([{ sunk: round(70), attacked: slow }])).toBe(false);
  expect(tooSlow([{ sunk: round(1), attacked: round(49) }])).toBe(false);
  expect(
    tooSlow([
      { sunk: round(10), attacked: slow },
      { sunk: round(10), attacked: good },
    ]),
  ).toBe(false);
});

test("takes a standstill in one pair for what it is, however good the next pair was", () => {
  const pairs = [
    { sunk: round(10), attacked: round(5_000) },
    { sunk: round(10), attacked: round(10) },
  ];
  expect(judge(attack, pairs, false).failures).toEqual(["the victim's p99 was 5000 ms, 10 ms with the sink"]);
});

test("fails when the run with the sink failed already", () => {
  expect(failuresOf(round(1), round(1, { newcomer: "refused" }))).toEqual([
    "already the run with the sink failed: refused",
  ]);
});
