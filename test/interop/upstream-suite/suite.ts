import { createWriteStream } from "node:fs";
import { finished } from "node:stream/promises";
import { isolate } from "./isolation.js";
import { parseReport, type Report } from "./report.js";

const TIME_LIMIT = "8m";

export interface SuiteRun {
  /** Upstream's compiled integration suite. */
  readonly suite: string;
  /** The agent executable it shall start. */
  readonly agent: string;
  /** Keeps everything suite and agents print, for reading after a failure. */
  readonly logFile?: string;
  /** Further arguments of the test binary, such as `-test.run=TestEchoServer`. */
  readonly arguments?: readonly string[];
}

/** Runs upstream's integration suite against an agent in a namespace of its own. */
export async function runSuite(run: SuiteRun): Promise<Report> {
  const isolation = await isolate();
  try {
    const argv = [
      run.suite,
      "-test.v",
      `-test.timeout=${TIME_LIMIT}`,
      ...(run.arguments ?? []),
      `-agent-path=${run.agent}`,
    ];
    const child = isolation.exec(argv, {
      cwd: isolation.folder,
      env: { ...process.env, TMPDIR: isolation.folder },
      stdio: ["ignore", "pipe", "pipe"],
    });
    const log = run.logFile === undefined ? undefined : createWriteStream(run.logFile);
    let output = "";
    let complaint = "";
    // Verdicts come on stdout, which the agents share; both streams go to the log as they arrive.
    child.stdout!.setEncoding("utf8").on("data", (text: string) => {
      output += text;
      log?.write(text);
    });
    child.stderr!.setEncoding("utf8").on("data", (text: string) => {
      complaint = (complaint + text).slice(-2_000);
      log?.write(text);
    });
    await new Promise<void>((resolve, reject) => {
      child.once("error", reject);
      child.once("exit", () => resolve());
    });
    await isolation.destroy();
    await Promise.all([finished(child.stdout!), finished(child.stderr!)]);
    log?.end();
    const report = parseReport(output);
    if (report.size === 0) throw new Error(`the suite ran no test; it said: ${complaint.trim()}`);
    return report;
  } finally {
    await isolation.destroy();
  }
}
