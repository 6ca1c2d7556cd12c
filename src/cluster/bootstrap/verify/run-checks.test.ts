import { expect, test } from "vitest";
import { type Check, CheckFailure, fail, pass, skip } from "../../../base/check.js";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { runChecks } from "./run-checks.js";

const never = new AbortController().signal;
const check = (id: string, run: Check["run"]): Check => ({ id, title: `the ${id}`, run });

test("every check has its result, in order, whatever the check does", async () => {
  const results = await runChecks(
    [
      check("good", async () => pass("seen", { number: 1 })),
      check("bad", async () => fail("not seen", "Do this.")),
      check("unasked", async () => skip("not here")),
      check("thrown", async () => {
        throw new CheckFailure("broke", "Mend it.");
      }),
      check("known", async () => {
        throw new DrawbridgeError("DB_KUBECONFIG", "no such file");
      }),
      check("surprise", async () => {
        throw new TypeError("x is undefined");
      }),
    ],
    never,
    3,
  );
  expect(results.map(({ id, status, evidence }) => [id, status, evidence])).toEqual([
    ["good", "pass", "seen"],
    ["bad", "fail", "not seen"],
    ["unasked", "skip", "not here"],
    ["thrown", "fail", "broke"],
    ["known", "fail", "no such file"],
    ["surprise", "fail", "x is undefined"],
  ]);
  expect(results.map(({ remedy }) => remedy !== "")).toEqual([false, true, false, true, true, true]);
  expect(results[0]?.details).toEqual({ number: 1 });
});

test("checks run one at a time unless told otherwise", async () => {
  let now = 0;
  let most = 0;
  const checks = ["a", "b", "c", "d", "e"].map((id) =>
    check(id, async () => {
      most = Math.max(most, ++now);
      await new Promise((resolve) => setImmediate(resolve));
      now--;
      return pass("");
    }),
  );
  await runChecks(checks, never);
  expect(most).toBe(1);
  await runChecks(checks, never, 3);
  expect(most).toBe(3);
});

test("what there was no time for is a failure that says so", async () => {
  const stop = new AbortController();
  const results = await runChecks(
    [
      check("slow", async (signal) => {
        stop.abort(new Error("--timeout is over"));
        signal.throwIfAborted();
        return pass("");
      }),
      check("later", async () => pass("")),
    ],
    stop.signal,
  );
  for (const { status, evidence, remedy } of results) {
    expect({ status, evidence }).toEqual({ status: "fail", evidence: "not looked at: --timeout is over" });
    expect(remedy).toContain("--timeout");
  }
});

test("foreign text arrives as one plain line of bounded length", async () => {
  const hostile = "\u001b[2Jcleared\r\n\u202egnitsal\u0000\ud800";
  const [result] = await runChecks([check("x", async () => fail(hostile, "y".repeat(5_000)))], never);
  expect(result?.evidence).toBe("\ufffd[2Jcleared \ufffdgnitsal\ufffd\ufffd");
  expect(result?.remedy.length).toBeLessThan(700);
});
