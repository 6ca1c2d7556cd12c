/** The demo of pools and nodes, as somebody runs it who has nothing but Node. */
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll, expect, test } from "vitest";
import { run } from "../support/lab/run.js";

const inRepository = (path: string) => fileURLToPath(new URL(`../../${path}`, import.meta.url));

const TMPDIR = mkdtempSync(join(tmpdir(), "db-nodes-demo-"));
afterAll(() => rmSync(TMPDIR, { recursive: true }));

test("two machines become nodes, forged requests do not, and nothing is left behind", async () => {
  const demo = [inRepository("scripts/with-tsx.mjs"), inRepository("demo/main.ts"), "--nodes", "--output=json"];
  const { code, stderr, stdout } = await run([process.execPath, ...demo], { env: { TMPDIR } });
  expect([code, stderr]).toEqual([0, expect.stringContaining("PASSED: 7/7 steps")]);
  const { steps } = JSON.parse(stdout) as { steps: { step: string; result: string; figures?: object }[] };
  expect(steps.find(({ step }) => step === "joining")?.figures).toEqual({ fetched: 2, approved: 4 });
  expect(stderr).toContain("denied: the subject asks for membership in system:masters");
  expect(stdout + stderr).not.toMatch(/Bearer|PRIVATE KEY/);
  expect(readdirSync(TMPDIR).filter((name) => name.startsWith("drawbridge-"))).toEqual([]);
});
