/** The end of an approver's decision log, which may be long. */
import { open } from "node:fs/promises";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { DecisionEntry } from "../../cluster/nodes/csr/decide.js";

const TAIL_BYTES = 256 * 1024;
const MAX_ENTRIES = 500;

/** Oldest first. A log that is not there yet is an empty one; lines that are no decisions are passed over. */
export async function endOfDecisionLog(path: string): Promise<DecisionEntry[]> {
  let text: string;
  try {
    text = await tail(path);
  } catch (reason) {
    if ((reason as NodeJS.ErrnoException).code === "ENOENT") return [];
    const sentence = `the decision log ${path} cannot be read: ${messageOf(reason)}`;
    throw new DrawbridgeError("DB_CSR_LOG", sentence, { cause: reason });
  }
  return text.split("\n").flatMap(entryIn).slice(-MAX_ENTRIES);
}

async function tail(path: string): Promise<string> {
  const file = await open(path, "r");
  try {
    const { size } = await file.stat();
    const start = Math.max(0, size - TAIL_BYTES);
    const { buffer, bytesRead } = await file.read(Buffer.alloc(size - start), 0, size - start, start);
    const text = buffer.toString("utf8", 0, bytesRead);
    // What it begins with in the middle of a line is no line.
    return start === 0 ? text : text.slice(text.indexOf("\n") + 1);
  } finally {
    await file.close();
  }
}

function entryIn(line: string): DecisionEntry[] {
  if (line === "") return [];
  try {
    const entry = JSON.parse(line) as Partial<Record<keyof DecisionEntry, unknown>>;
    const words = [
      entry.at,
      entry.by,
      entry.rule,
      entry.explanation,
      entry.request,
      entry.user,
      entry.node,
      entry.pool,
    ];
    const isWhole = words.every((word) => typeof word === "string") && /^(approve|deny|leave)$/.test(`${entry.action}`);
    return isWhole ? [entry as unknown as DecisionEntry] : [];
  } catch {
    return [];
  }
}
