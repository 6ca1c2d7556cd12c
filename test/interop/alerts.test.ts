/** The alert rules as Prometheus reads them: Debian's promtool checks them and plays what should and should not fire. */
import { expect, test } from "vitest";
import { lacks } from "../support/lab/lacks.js";
import { run } from "../support/lab/run.js";

const missing = lacks({ peers: [], tools: ["promtool"], files: [] });
if (missing !== undefined && process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(missing);
if (missing !== undefined) process.stderr.write(`skipped: ${missing}\n`);

test.skipIf(missing !== undefined).each([
  ["check", "alerts/drawbridge.rules.yaml"],
  ["test", "alerts/drawbridge.tests.yaml"],
])("promtool %s rules %s", async (verb, file) => {
  const { code, stdout, stderr } = await run(["promtool", verb, "rules", file]);
  expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
  expect(stdout).toContain("SUCCESS");
});
