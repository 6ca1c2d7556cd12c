import { expect, test } from "vitest";
import { DrawbridgeError } from "../../base/errors/error.js";
import { CheckFailure, failed, type Judgement, ok, skipped } from "../../base/finding.js";
import { type Check, defineCheck, unavailable } from "./check.js";
import { runChecks } from "./run.js";

const NOON = new Date("2026-01-01T12:00:00Z");
const check = (id: string, judge: (signal: AbortSignal) => Judgement | Promise<Judgement>): Check =>
  defineCheck({ id, about: `the ${id}`, needs: [], judge: async (_, signal) => [await judge(signal)] });

test("every check has its finding, in order, whatever the check does", async () => {
  const findings = await runChecks(
    [
      check("good", () => ({ ...ok("seen"), details: { number: 1 } })),
      check("bad", () => failed("not seen", "Do this.")),
      check("unasked", () => skipped("not here")),
      check("thrown", () => Promise.reject(new CheckFailure("broke", "Mend it."))),
      check("known", () => Promise.reject(new DrawbridgeError("DB_KUBECONFIG", "no such file"))),
      check("surprise", () => Promise.reject(new TypeError("x is undefined"))),
    ],
    {},
    { atOnce: 3 },
  );
  expect(findings.map(({ check: id, state, message }) => [id, state, message])).toEqual([
    ["good", "ok", "seen"],
    ["bad", "failed", "not seen"],
    ["unasked", "skipped", "not here"],
    ["thrown", "failed", "broke"],
    ["known", "failed", "known could not be checked: no such file"],
    ["surprise", "failed", "surprise could not be checked: x is undefined"],
  ]);
  expect(findings.map(({ remedy }) => remedy !== "")).toEqual([false, true, false, true, true, true]);
  expect(findings[0]).toMatchObject({ about: "the good", details: { number: 1 } });
});

test("a fact is gathered once, and only when a check needs it", async () => {
  let gathered = 0;
  const source = {
    now: () => {
      gathered++;
      return NOON;
    },
  };
  const dated = defineCheck({
    ...{ id: "dated", about: "It is noon", needs: ["now"] },
    judge: ({ now }) => [ok(now.toISOString())],
  });
  await runChecks([check("other", () => ok(""))], source);
  expect(gathered).toBe(0);
  const findings = await runChecks([dated, dated], source);
  expect(findings.map(({ message }) => message)).toEqual([NOON.toISOString(), NOON.toISOString()]);
  expect(gathered).toBe(1);
});

test("a check is left out without its fact, skipped when the fact is unavailable, failed when gathering failed", async () => {
  const needing = defineCheck({ id: "a", about: "", needs: ["now"], judge: () => [ok("judged")] });
  const using = defineCheck({ id: "b", about: "", needs: [], uses: ["now"], judge: ({ now }) => [ok(`${now}`)] });
  expect(await runChecks([needing], {})).toEqual([]);
  const withoutClock = { now: () => unavailable("there is no clock", "Buy one.") };
  expect(await runChecks([needing, using], withoutClock)).toMatchObject([
    { state: "skipped", message: "there is no clock", remedy: "Buy one." },
    { state: "ok", message: "undefined" },
  ]);
  const broken = { now: () => Promise.reject(new Error("stopped")) };
  expect(await runChecks([needing], broken)).toMatchObject([
    { state: "failed", message: "a could not be checked: stopped" },
  ]);
});

test("checks run one at a time unless atOnce says otherwise", async () => {
  let now = 0;
  let most = 0;
  const checks = ["a", "b", "c", "d", "e"].map((id) =>
    check(id, async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      return ok("");
    }),
  );
  await runChecks(checks, {});
  expect(most).toBe(1);
  await runChecks(checks, {}, { atOnce: 3 });
  expect(most).toBe(3);
});

test("a check that is called off or exceeds its deadline has failed and says so", async () => {
  const stop = new AbortController();
  const never = () => new Promise<Judgement>(() => {});
  const slow = check("slow", () => {
    stop.abort(new Error("--timeout is over"));
    return never();
  });
  const findings = await runChecks([slow, check("later", () => ok(""))], {}, { signal: stop.signal });
  for (const finding of findings) {
    expect(finding).toMatchObject({ state: "failed", message: "not checked: --timeout is over" });
    expect(finding.remedy).toContain("--timeout");
  }
  expect(await runChecks([check("deaf", never)], {}, { deadlineMs: 20 })).toMatchObject([
    { state: "failed", message: "deaf could not be checked in 0.02 s" },
  ]);
});

test("foreign text becomes one plain line of bounded length", async () => {
  const hostile = "\u001b[2Jcleared\r\n\u202egnitsal\u0000\ud800";
  const [finding] = await runChecks([check("x", () => failed(hostile, "y".repeat(5_000), hostile))], {});
  expect(finding?.message).toBe("\ufffd[2Jcleared \ufffdgnitsal\ufffd\ufffd");
  expect(finding?.evidence).toEqual([finding?.message]);
  expect(finding?.remedy.length).toBeLessThan(700);
});

test("a check that cleans up is awaited after the run is called off, and what it found counts", async () => {
  const stop = new AbortController();
  let isClean = false;
  const check = defineCheck({
    ...{ id: "proof", about: "It leaves nothing", needs: [], cleansUp: true },
    async judge() {
      stop.abort(new Error("interrupted"));
      await new Promise((resolve) => setTimeout(resolve, 20));
      isClean = true;
      return [ok("everything was removed")];
    },
  });
  expect(await runChecks([check], {}, { signal: stop.signal })).toMatchObject([{ state: "ok" }]);
  expect(isClean).toBe(true);
});
