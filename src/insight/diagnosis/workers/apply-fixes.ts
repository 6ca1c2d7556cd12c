/** Applies what findings offer, one after the other, and nothing without a record. */
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import type { ErrorCode } from "../../../base/errors/catalogue.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { Finding } from "../../../base/finding.js";

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
  /** Every fix is a line of JSON there when it begins and one when it ends. */
  readonly logFile: string;
  readonly now: () => number;
}

export async function applyFixes(findings: readonly Finding[], options: FixOptions): Promise<AppliedFix[]> {
  const { dryRun, logFile, now } = options;
  const fixable = fixableOf(findings);
  if (dryRun || fixable.length === 0)
    return fixable.map(({ entry }) => ({ ...entry, outcome: "would be done", result: "" }));
  const log = await openLog(logFile);
  const done: AppliedFix[] = [];
  try {
    for (const { entry, fix } of fixable) {
      await log.write({ at: time(now()), outcome: "begun", ...entry });
      const applied = await fix.apply().then(
        (result) => ({ outcome: "done" as const, result }),
        (reason: unknown) => ({ outcome: "failed" as const, result: messageOf(reason) }),
      );
      await log.write({ at: time(now()), ...entry, ...applied });
      done.push({ ...entry, ...applied });
    }
  } finally {
    await log.close();
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

async function openLog(path: string) {
  const failed = (reason: unknown) =>
    new DrawbridgeError("DB_FIX_LOG", `the fix log ${path} cannot be written: ${messageOf(reason)}`);
  let file: FileHandle;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    file = await open(path, "a", 0o600);
  } catch (reason) {
    throw failed(reason);
  }
  return {
    async write(entry: Readonly<Record<string, string>>): Promise<void> {
      await file.write(`${JSON.stringify(entry)}\n`).catch((reason: unknown) => {
        throw failed(reason);
      });
    },
    close: () => file.close(),
  };
}

const time = (at: number) => new Date(at).toISOString();
