/** Every decision, one JSON object a line, appended and never changed. */
import { type FileHandle, open } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { Decision } from "./decide.js";
import type { SigningRequest } from "./signing-request.js";

export interface DecisionLog {
  /** Resolves once the line is with the operating system; nothing is approved before. */
  write(entry: DecisionEntry): Promise<void>;
  close(): Promise<void>;
}

export interface DecisionEntry {
  readonly at: string;
  /** `leader`, `by hand`, `dry run`. */
  readonly by: string;
  readonly action: Decision["action"];
  readonly rule: string;
  readonly explanation: string;
  readonly request: string;
  readonly uid: string;
  readonly signer: string;
  readonly user: string;
  readonly node: string;
  readonly pool: string;
  readonly despite?: readonly string[];
}

export function entryOf(
  decision: Decision,
  { metadata, spec }: SigningRequest,
  now: number,
  by: string,
): DecisionEntry {
  return {
    at: new Date(now).toISOString(),
    by,
    action: decision.action,
    rule: decision.rule,
    explanation: decision.explanation,
    request: decision.request,
    uid: metadata?.uid ?? "",
    signer: spec?.signerName ?? "",
    user: spec?.username ?? "",
    node: decision.node,
    pool: decision.pool ?? "",
  };
}

/** Opened once; a file that was there is continued. */
export async function openDecisionLog(path: string): Promise<DecisionLog> {
  let file: FileHandle;
  try {
    file = await open(path, "a", 0o600);
  } catch (reason) {
    throw unwritable(path, reason);
  }
  return {
    async write(entry) {
      const line = Buffer.from(`${JSON.stringify(entry)}\n`);
      try {
        // One write a line: the kernel appends it whole, whoever else writes.
        const { bytesWritten } = await file.write(line);
        if (bytesWritten !== line.length) throw new Error("only a part of the line could be written");
      } catch (reason) {
        throw unwritable(path, reason);
      }
    },
    close: () => file.close(),
  };
}

/** For whoever wants none. */
export const noDecisionLog: DecisionLog = { write: async () => {}, close: async () => {} };

function unwritable(path: string, reason: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_CSR_LOG", `the decision log ${path} cannot be written: ${messageOf(reason)}`, {
    cause: reason,
  });
}
