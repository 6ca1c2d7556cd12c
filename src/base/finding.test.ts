import { expect, test } from "vitest";
import { remedies } from "./errors/catalogue.js";
import { DrawbridgeError } from "./errors/error.js";
import { CheckFailure, failed, failureOf, ok, skipped, warning } from "./finding.js";

test("judgements are printed as JSON with the same keys in the same order", () => {
  expect(JSON.stringify([ok("seen", "a: 1"), failed("not seen", "Do this."), skipped("not here")])).toBe(
    '[{"state":"ok","message":"seen","evidence":["a: 1"],"remedy":""},' +
      '{"state":"failed","message":"not seen","evidence":[],"remedy":"Do this."},' +
      '{"state":"skipped","message":"not here","evidence":[],"remedy":""}]',
  );
  expect(skipped("no kubeconfig", "Give --kubeconfig.").remedy).toBe("Give --kubeconfig.");
  expect(warning("old", "Renew it.", "a", "b")).toMatchObject({ state: "warning", evidence: ["a", "b"] });
});

test("an error thrown by a check is a failure with the remedy that the error knows", () => {
  expect(failureOf(new CheckFailure("broke", "Mend it."))).toEqual(failed("broke", "Mend it."));
  expect(failureOf(new DrawbridgeError("DB_KUBECONFIG", "no such file"))).toEqual({
    ...failed("no such file", remedies.DB_KUBECONFIG),
    code: "DB_KUBECONFIG",
  });
  const remedy = "Run the command again with --output json and report it.";
  expect(failureOf(new TypeError("x is undefined"))).toEqual(failed("x is undefined", remedy));
  expect(failureOf("a word")).toEqual(failed("a word", remedy));
});

test("a connection that did not come about has the remedy for it, not a request for a report", () => {
  const refused = Object.assign(new Error("connect ECONNREFUSED 10.0.0.1:1"), { code: "ECONNREFUSED" });
  expect(failureOf(refused)).toMatchObject({ code: "DB_CONNECT_REFUSED", remedy: remedies.DB_CONNECT_REFUSED });
  const unknown = Object.assign(new Error("getaddrinfo ENOTFOUND x"), { code: "ENOTFOUND" });
  expect(failureOf(unknown)).toMatchObject({ code: "DB_NAME_UNKNOWN" });
});
