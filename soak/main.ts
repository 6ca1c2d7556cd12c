/** `npm run soak`: see options.ts for its flags. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { HELP, parseOptions, type SoakOptions } from "./options.js";
import { progressLine, say } from "./report/progress.js";
import { reportOf } from "./report/report.js";
import { markdown } from "./report/text.js";
import { writeDocs } from "./report/write-docs.js";
import { soak } from "./run.js";

// Whatever runs on behalf of the soak ends with it, also what was only just being started (test/support's last resort).
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));

let code = 2;
try {
  code = await main(parseOptions(process.argv.slice(2)));
} catch (reason) {
  say(`soak: ${reason instanceof Error ? reason.message : String(reason)}`);
}
// After a violation the load that was under way still waits for its answers.
process.stdout.write("", () => process.exit(code));

async function main(options: SoakOptions | "help"): Promise<number> {
  if (options === "help") {
    process.stdout.write(HELP);
    return 0;
  }
  say(`soak: ${options.minutes} minutes, seed ${options.seed}`);
  const dir = mkdtempSync(join(tmpdir(), "db-soak-"));
  const outcome = await soak(options, dir, {
    say,
    progress: (now) => say(progressLine(now)),
  });
  const { violation } = outcome;
  if (violation) {
    say(`VIOLATION after ${violation.seconds.toFixed(1)} s: ${violation.what}`);
    say(`seed ${options.seed}; logs and what was known at that moment are kept in ${dir}`);
  } else rmSync(dir, { recursive: true, force: true });
  const report = reportOf(options, outcome);
  process.stdout.write(options.output === "json" ? `${JSON.stringify(report, undefined, 2)}\n` : markdown(report));
  if (options.write && violation) say("docs/soak.md is left as it was: the run failed.");
  else if (options.write) {
    writeDocs(report);
    say("written: docs/soak.md");
  }
  return violation ? 1 : 0;
}
