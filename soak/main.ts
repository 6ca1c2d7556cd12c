/** `npm run soak`: see options.ts for its flags. */

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand, say } from "../test/support/command/run.js";
import { type KillsReport, killsReport, killsText } from "./kills/report.js";
import { soakKills } from "./kills/run.js";
import { HELP, parseOptions, type SoakOptions } from "./options.js";
import { progressLine } from "./report/progress.js";
import { type Report, reportOf } from "./report/report.js";
import { markdown } from "./report/text.js";
import { writeDocs } from "./report/write-docs.js";
import { type Observer, type Progress, soak } from "./run.js";
import { type ScalingsReport, scalingsText, soakScalings } from "./scalings/run.js";

await runCommand("soak", () => main(parseOptions(process.argv.slice(2))));

async function main(options: SoakOptions | "help"): Promise<number> {
  if (options === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  const dir = mkdtempSync(join(tmpdir(), "db-soak-"));
  const observer = { say, progress: (now: Progress) => say(progressLine(now)) };
  const play = options.kills !== undefined ? byKills : options.scalings !== undefined ? byScalings : byMinutes;
  const [report, text] = await play(options, dir, observer);
  const { violation } = report;
  if (violation) {
    say(`VIOLATION after ${violation.seconds} s: ${violation.what}`);
    say(`seed ${options.seed}; logs and what was known at that moment are kept in ${dir}`);
  } else rmSync(dir, { recursive: true, force: true });
  process.stdout.write(options.output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : text);
  return violation ? 1 : 0;
}

async function byMinutes(options: SoakOptions, dir: string, observer: Observer): Promise<[Report, string]> {
  say(`soak: ${options.minutes} minutes, seed ${options.seed}`);
  const report = reportOf(options, await soak(options, dir, observer));
  if (options.write && report.violation) say("docs/soak.md is left as it was: the run failed.");
  else if (options.write) {
    writeDocs(report);
    say("written: docs/soak.md");
  }
  return [report, markdown(report)];
}

async function byScalings(options: SoakOptions, dir: string): Promise<[ScalingsReport, string]> {
  say(`soak: ${options.scalings} scalings, seed ${options.seed}`);
  const report = await soakScalings(options, dir, say);
  return [report, scalingsText(report)];
}

async function byKills(options: SoakOptions, dir: string, observer: Observer): Promise<[KillsReport, string]> {
  say(`soak: ${options.kills} kills, seed ${options.seed}`);
  const report = killsReport(options, await soakKills(options, dir, observer));
  return [report, killsText(report)];
}
