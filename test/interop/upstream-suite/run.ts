/** `tsx test/interop/upstream-suite/run.ts [agent executable] [-test.run=...]`: prints the list for that agent. */
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { requirePeer } from "../../../peers/index.js";
import { requireNamespaces } from "../../support/netns/index.js";
import { formatReport } from "./report.js";
import { runSuite } from "./suite.js";

process.env.DRAWBRIDGE_REQUIRE_PEERS = "1";
try {
  const given = process.argv.slice(2);
  const path = given.find((argument) => !argument.startsWith("-"));
  const agent = path === undefined ? requirePeer("proxy-agent")! : resolve(path);
  const suite = requirePeer("konnectivity-suite")!;
  await requireNamespaces();
  const logFile = join(tmpdir(), `db-upstream-suite-${process.pid}.log`);
  const flags = given.filter((argument) => argument.startsWith("-"));
  const report = await runSuite({ suite, agent, logFile, arguments: flags });
  process.stdout.write(`agent ${agent}\n${formatReport(report)}\nlog ${logFile}\n`);
  process.exitCode = [...report.values()].includes("FAIL") ? 1 : 0;
} catch (error) {
  process.stderr.write(`${(error as Error).message}\n`);
  process.exitCode = 1;
}
