/** Applies what the checks offer, one after the other, and nothing without a record. */
import { type FileHandle, mkdir, open } from "node:fs/promises";
import { dirname } from "node:path";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { Ailment, AilmentCode } from "./ailment.js";

export interface Treatment {
  readonly code: AilmentCode;
  readonly subject: string;
  readonly what: string;
  readonly outcome: "would be done" | "done" | "failed";
  /** What came of it; empty for what was not done. */
  readonly said: string;
}

export interface TreatmentOptions {
  /** Says what would be done, and does nothing. */
  readonly dryRun: boolean;
  /** Every fix is a line of JSON there when it begins and one when it ends. */
  readonly logFile: string;
  readonly now: () => number;
}

export async function treat(ailments: readonly Ailment[], options: TreatmentOptions): Promise<Treatment[]> {
  const { dryRun, logFile, now } = options;
  const treatable = treatableOf(ailments);
  if (dryRun || treatable.length === 0) {
    return treatable.map(({ code, fix: { what }, subject }) => ({
      code,
      subject,
      what,
      outcome: "would be done",
      said: "",
    }));
  }
  const log = await openLog(logFile);
  const done: Treatment[] = [];
  try {
    for (const { code, fix, subject } of treatable) {
      const entry = { code, subject, what: fix.what };
      await log({ at: time(now()), outcome: "begun", ...entry });
      const result = await fix.apply().then(
        (said) => ({ outcome: "done" as const, said }),
        (reason: unknown) => ({ outcome: "failed" as const, said: messageOf(reason) }),
      );
      await log({ at: time(now()), ...entry, ...result });
      done.push({ ...entry, ...result });
    }
  } finally {
    await log.close();
  }
  return done;
}

/** What would have been done, had somebody else not been in the way. */
export function putOff(ailments: readonly Ailment[], why: string): Treatment[] {
  return treatableOf(ailments).map(({ code, fix: { what }, subject }) => ({
    ...{ code, subject, what, said: why },
    outcome: "failed",
  }));
}

function treatableOf(ailments: readonly Ailment[]) {
  return ailments.flatMap(({ code, fix, subject }) => (code && fix ? [{ code, fix, subject }] : []));
}

interface FixLog {
  (entry: Readonly<Record<string, string>>): Promise<void>;
  close(): Promise<void>;
}

async function openLog(path: string): Promise<FixLog> {
  const failed = (reason: unknown) =>
    new DrawbridgeError("DB_FIX_LOG", `the fix log ${path} cannot be written: ${messageOf(reason)}`);
  let file: FileHandle;
  try {
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    file = await open(path, "a", 0o600);
  } catch (reason) {
    throw failed(reason);
  }
  const write = async (entry: Readonly<Record<string, string>>) => {
    await file.write(`${JSON.stringify(entry)}\n`).catch((reason: unknown) => {
      throw failed(reason);
    });
  };
  return Object.assign(write, { close: () => file.close() });
}

const time = (at: number) => new Date(at).toISOString();
