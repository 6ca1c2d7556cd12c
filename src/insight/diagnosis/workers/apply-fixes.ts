/** Applies the fixes of findings, one after the other, and logs each of them. */
import { mkdir } from "node:fs/promises";
import { dirname } from "node:path";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { messageOf } from "../../../base/errors/error.js";
import type { Finding } from "../../../base/finding.js";
import { openLineLog } from "../../../cluster/nodes/line-log.js";

export interface AppliedFix {
  readonly code: ErrorCode;
  readonly subject: string;
  readonly what: string;
  readonly outcome: "would be done" | "done" | "failed";
  /** A sentence about the result, or why there is none; empty when nothing was done. */
  readonly result: string;
}

export interface FixOptions {
  /** Reports what would be done, and does nothing. */
  readonly dryRun: boolean;
  /** Every fix is logged there as a line of JSON when it begins and when it ends. */
  readonly logFile: string;
  readonly now: () => number;
}

export async function applyFixes(findings: readonly Finding[], options: FixOptions): Promise<AppliedFix[]> {
  const { dryRun, logFile, now } = options;
  const fixable = fixableOf(findings);
  if (dryRun || fixable.length === 0)
    return fixable.map(({ entry }) => ({ ...entry, outcome: "would be done", result: "" }));
  // If the directory cannot be made, the log cannot be opened either, and that error is reported.
  await mkdir(dirname(logFile), { recursive: true, mode: 0o700 }).catch(() => undefined);
  const log = openLineLog("fix log", logFile, "DB_FIX_LOG");
  const done: AppliedFix[] = [];
  try {
    for (const { entry, fix } of fixable) {
      log.write({ at: time(now()), outcome: "begun", ...entry });
      const applied = await fix.apply().then(
        (result) => ({ outcome: "done" as const, result }),
        (reason: unknown) => ({ outcome: "failed" as const, result: messageOf(reason) }),
      );
      log.write({ at: time(now()), ...entry, ...applied });
      done.push({ ...entry, ...applied });
    }
  } finally {
    log.close();
  }
  return done;
}

/** Fixes that another command prevented. */
export function postponeFixes(findings: readonly Finding[], why: string): AppliedFix[] {
  return fixableOf(findings).map(({ entry }) => ({ ...entry, outcome: "failed", result: why }));
}

function fixableOf(findings: readonly Finding[]) {
  return findings.flatMap(({ code, fix, subject = "" }) =>
    code && fix ? [{ fix, entry: { code, subject, what: fix.what } }] : [],
  );
}

const time = (at: number) => new Date(at).toISOString();
