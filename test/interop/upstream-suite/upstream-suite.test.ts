import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { beforeAll, describe, expect, test } from "vitest";
import { requirePeer } from "../../../peers/index.js";
import { requireNamespaces } from "../../support/netns/index.js";
import { formatReport, type Report } from "./report.js";
import { runSuite } from "./suite.js";

const RUN_MS = 10 * 60_000;
const UPSTREAM_TESTS = 26;

const repository = fileURLToPath(new URL("../../..", import.meta.url));
const ourAgent = resolve(repository, process.env.DRAWBRIDGE_AGENT ?? "dist/bin/proxy-agent");
const suite = requirePeer("konnectivity-suite");
const theirAgent = requirePeer("proxy-agent");
const canRun = (await requireNamespaces()) && suite !== undefined && theirAgent !== undefined;

async function runWith(agent: string, label: string): Promise<Report> {
  const report = await runSuite({ suite: suite!, agent, logFile: join(tmpdir(), `db-upstream-suite-${label}.log`) });
  process.stdout.write(`upstream suite, ${label} agent\n${formatReport(report)}\n`);
  return report;
}

describe.skipIf(!canRun)("upstream's integration suite", () => {
  let theirs: Report;

  beforeAll(async () => {
    theirs = await runWith(theirAgent!, "upstream");
  }, RUN_MS);

  test("passes whole with upstream's own agent, so the surroundings are right", () => {
    expect([...theirs].filter(([, verdict]) => verdict !== "PASS")).toEqual([]);
    expect(theirs.size).toBe(UPSTREAM_TESTS);
  });

  test("gives our agent the same list", { timeout: RUN_MS }, async () => {
    expect(existsSync(ourAgent), `${ourAgent} is missing: run npm run build`).toBe(true);
    const ours = await runWith(ourAgent, "our");
    expect(Object.fromEntries(ours)).toEqual(Object.fromEntries(theirs));
  });
});
