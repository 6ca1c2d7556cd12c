/** What the doctor of workers found and did, as people and scripts read it. */
import type { PoolRound } from "../../cluster/nodes/recovery/round.js";
import type { Treatment } from "../../cluster/nodes/recovery/treat.js";
import { findingsText } from "../../insight/diagnosis/report.js";

export function roundsText(rounds: readonly PoolRound[], isFixing: boolean): string {
  return rounds
    .map(({ checks, fixes, pool }) => {
      const findings = checks.map(({ id, finding, state, ...rest }) => ({
        ...{ ...rest, check: id, about: id, message: finding, state: state === "wrong" ? ("failed" as const) : state },
      }));
      return [`Pool ${pool}\n\n`, findingsText(findings), isFixing ? fixesText(fixes) : hint(checks)].join("");
    })
    .join("\n");
}

/** Without the functions that fix. */
export function shownRounds(rounds: readonly PoolRound[]): object[] {
  return rounds.map(({ checks, fixes, pool }) => ({
    pool,
    checks: checks.map(({ fix, ...check }) => ({ ...check, ...(fix && { fix: fix.what }) })),
    fixes,
  }));
}

function fixesText(fixes: readonly Treatment[]): string {
  if (fixes.length === 0) return "\nThere was nothing that could be fixed from here.\n";
  const line = ({ code, outcome, said, what }: Treatment) =>
    `  ${outcome}: ${what} (${code})${said === "" ? "" : `\n      ${said}`}\n`;
  return `\nFixes:\n${fixes.map(line).join("")}`;
}

function hint(checks: PoolRound["checks"]): string {
  const fixable = checks.filter(({ fix }) => fix !== undefined).length;
  return fixable === 0 ? "" : `--fix can do something about ${fixable} of these; --fix --dry-run says what.\n`;
}
