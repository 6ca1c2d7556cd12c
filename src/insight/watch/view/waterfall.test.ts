import { expect, test } from "vitest";
import { NOW, tunnel } from "../testing/samples.js";
import { waterfall } from "./waterfall.js";

const lived = (marks: object, parts = {}) => waterfall(tunnel(1, { askedAt: NOW, marks, ...parts }), NOW + 900);

test("a waterfall shows choice, dial, open and half-closed phases", () => {
  const { bars, events, lengthMs } = lived(
    { dialled: 2, answered: 10, firstByteToTarget: 11, firstByteFromTarget: 15, callerEnded: 100, ended: 300 },
    { endReason: "the target closed" },
  );
  expect(bars.map(({ kind, fromMs, toMs }) => [kind, fromMs, toMs])).toEqual([
    ["wait", 0, 2],
    ["dial", 2, 10],
    ["open", 10, 100],
    ["half", 100, 300],
  ]);
  expect(bars.at(-1)?.label).toBe("only the target sends");
  expect(events.map(({ atMs }) => atMs)).toEqual([11, 15, 100, 300]);
  expect(events.at(-1)?.label).toBe("ended: the target closed");
  expect(lengthMs).toBe(300);
});

test("a waterfall shows the time that a dial spent at an agent before the one that answered", () => {
  const { bars } = lived({ firstDialled: 1, dialled: 41, answered: 50, ended: 60 });
  expect(bars.map(({ label, fromMs, toMs }) => [label, fromMs, toMs]).slice(0, 3)).toEqual([
    ["waiting for an agent", 0, 1],
    ["dial failed at another agent", 1, 41],
    ["dialled", 41, 50],
  ]);
});

test("the waterfall of an open tunnel reaches to now", () => {
  expect(lived({ dialled: 1, answered: 2 }).bars.at(-1)).toMatchObject({ kind: "open", fromMs: 2, toMs: 900 });
});

test("a waterfall shows a failed dial, and one that waits for an agent", () => {
  const failed = lived({ dialled: 1, ended: 40 }, { lastError: "refused" });
  expect(failed.bars.at(-1)).toMatchObject({ kind: "failed", fromMs: 1, toMs: 40 });
  expect(failed.events).toEqual([{ label: "ended: refused", atMs: 40 }]);
  expect(lived({}).bars).toEqual([{ label: "waiting for an agent", fromMs: 0, toMs: 900, kind: "wait" }]);
});
