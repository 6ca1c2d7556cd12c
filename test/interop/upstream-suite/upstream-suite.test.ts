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

/**
 * Tests that fail now and then with upstream's own agent, too: whether their HTTP client reports the cancelled context
 * or the end of the tunnel first is a race inside upstream's client (7 of 60 runs lost it with upstream's agent). They
 * get further tries, alone.
 */
const RACY: readonly string[] = ["TestProxyHandle_TunnelContextCancelled_GRPC"];
const TRIES = 8;

/** Upstream's own agent gets further tries in every test: a busy machine makes more of them racy. */
async function runWith(agent: string, label: "upstream" | "our"): Promise<Report> {
  const logFile = join(tmpdir(), `db-upstream-suite-${label}.log`);
  const report = new Map(await runSuite({ suite: suite!, agent, logFile }));
  for (const name of label === "upstream" ? [...report.keys()] : RACY) {
    for (let again = 1; report.get(name) === "FAIL" && again < TRIES; again++) {
      const alone = await runSuite({ suite: suite!, agent, arguments: [`-test.run=^${name}$`] });
      process.stdout.write(`${name}, tried again: ${alone.get(name)}\n`);
      report.set(name, alone.get(name) ?? "FAIL");
    }
  }
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
