import { expect, test } from "vitest";
import { CheckFailure, fail, failureOf, pass, skip } from "./check.js";
import { catalogue } from "./errors/catalogue.js";
import { DrawbridgeError } from "./errors/error.js";

test("outcomes are printed as JSON: the same keys in the same order, and details only where there are some", () => {
  expect(JSON.stringify([pass("seen"), fail("not seen", "Do this."), skip("not here")])).toBe(
    '[{"status":"pass","evidence":"seen","remedy":""},' +
      '{"status":"fail","evidence":"not seen","remedy":"Do this."},' +
      '{"status":"skip","evidence":"not here","remedy":""}]',
  );
  const details = { number: 1 };
  expect([pass("", details), fail("", "", details), skip("", "", details)].map((outcome) => outcome.details)).toEqual([
    details,
    details,
    details,
  ]);
  expect(skip("no kubeconfig", "Give --kubeconfig.").remedy).toBe("Give --kubeconfig.");
});

test("what a check throws is its failure, with the remedy the thrower knows", () => {
  expect(failureOf(new CheckFailure("broke", "Mend it."))).toEqual(fail("broke", "Mend it."));
  expect(failureOf(new DrawbridgeError("DB_KUBECONFIG", "no such file"))).toEqual(
    fail("no such file", catalogue.DB_KUBECONFIG.remedy),
  );
  const report = "Run it again with --output json and report it.";
  expect(failureOf(new TypeError("x is undefined"))).toEqual(fail("x is undefined", report));
  expect(failureOf("a word")).toEqual(fail("a word", report));
});
