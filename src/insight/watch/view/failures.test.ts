import { expect, test } from "vitest";
import { HISTORY, NOW, tunnel } from "../testing/samples.js";
import { shownFailures } from "./failures.js";

const group = (target: string, firstAt: number) => ({
  ...{ target, reason: "connection refused", count: 3, firstAt, lastAt: NOW, peers: ["node-1"] },
});
const refused = (id: string, target: string, at: number) => ({ id, at, target, why: "No agent is connected." });

test("the groups of the process keep their order, however their counts grow", () => {
  const failures = [group("a:1", NOW - 5000), group("b:1", NOW - 9000)];
  expect(shownFailures({ ...HISTORY, failures }, [], []).map(({ target }) => target)).toEqual(["a:1", "b:1"]);
});

test("what the process itself has grouped is not listed again, what was before its ten minutes is", () => {
  const failures = [group("a:1", NOW - 5000)];
  const failed = (id: number, askedAt: number) =>
    tunnel(id, { target: "a:1", state: "failed", lastError: "connection refused", askedAt, marks: { ended: 2 } });
  const ended = [failed(3, NOW - 5000), failed(2, NOW - 900_000), failed(1, NOW - 950_000)];
  const shown = shownFailures({ ...HISTORY, failures }, [], ended);
  expect(shown.map(({ count, firstAt }) => [count, NOW - firstAt])).toEqual([
    [3, 5000],
    [2, 949_998],
  ]);
  expect(shown[0]).toMatchObject({ tunnel: { id: 3 } });
  expect(shown[1]).toMatchObject({ peers: ["agent-1"] });
});

test("refusals of one target and reason are one where the role keeps no history, with the last one to explain it", () => {
  const refusals = [refused("n3", "workers", NOW), refused("n2", "workers", NOW - 1000), refused("n1", "", NOW - 2000)];
  expect(shownFailures(undefined, refusals, [])).toMatchObject([
    { target: "workers", count: 2, refusal: { id: "n3" } },
    { target: "", count: 1 },
  ]);
});
