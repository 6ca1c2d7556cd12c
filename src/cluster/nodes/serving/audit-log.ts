/** The trail of fetches: one JSON object a line, appended and never changed. It holds no token. */
import { closeSync, openSync, writeSync } from "node:fs";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { Served, Turned } from "../../ignition/server/fetches.js";

export interface AuditLog {
  /** With the operating system when it returns. Throws DB_IGNITION_AUDIT. */
  write(line: AuditLine): void;
  close(): void;
}

export type AuditLine = Readonly<Record<string, string>>;

export function servedLine({ at, claimed, pool, remote, secret, worker }: Served): AuditLine {
  const time = new Date(at).toISOString();
  return {
    at: time,
    outcome: "served",
    remote,
    pool,
    secret,
    ...(worker === undefined ? {} : { worker }),
    ...said(claimed),
  };
}

export function turnedLine({ at, claimed, remote, why }: Turned): AuditLine {
  return { at: new Date(at).toISOString(), outcome: "refused", remote, why, ...said(claimed) };
}

/** What strangers say of themselves may be long. */
const LONGEST_SAID = 256;

function said({ pool, targetConfigVersion }: Served["claimed"]): AuditLine {
  return {
    ...(pool === undefined ? {} : { saidPool: pool.slice(0, LONGEST_SAID) }),
    ...(targetConfigVersion === undefined ? {} : { saidHash: targetConfigVersion.slice(0, LONGEST_SAID) }),
  };
}

export function openAuditLog(path: string): AuditLog {
  const failed = (reason: unknown) =>
    new DrawbridgeError("DB_IGNITION_AUDIT", `the audit log ${path} cannot be written: ${messageOf(reason)}`);
  let file: number;
  try {
    file = openSync(path, "a", 0o600);
  } catch (reason) {
    throw failed(reason);
  }
  return {
    write: (line) => {
      try {
        writeSync(file, `${JSON.stringify(line)}\n`);
      } catch (reason) {
        throw failed(reason);
      }
    },
    close: () => closeSync(file),
  };
}
