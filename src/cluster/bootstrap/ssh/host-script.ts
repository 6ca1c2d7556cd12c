/** A script that a host's bash reads from its standard input: this host's, or one's behind ssh. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { quoted, type SshTarget, sshCommand, sshFailure } from "./ssh.js";

export interface ScriptRun {
  readonly script: string;
  /** Undefined: this host. */
  readonly over: SshTarget | undefined;
  readonly timeoutMs: number;
}

/** A script that calls functions of the library, each call with its words. */
export function callingScript(library: string, calls: readonly (readonly string[])[]): string {
  const lines = calls.map((words) => `  ${words.map(quoted).join(" ")}`);
  // In a function, so that bash has read it all before any command could read from the same input.
  return `${library}\nmain() {\n${lines.join("\n")}\n}\nmain </dev/null\n`;
}

const LONGEST_COMPLAINT = 64 * 1024;

/** What it prints, as it arrives. Throws DB_SSH or DB_GATHER when it did not end well. */
export async function* scriptOutput({ script, over, timeoutMs }: ScriptRun): AsyncGenerator<Buffer, void, void> {
  const [program = "", ...args] = over === undefined ? ["bash", "-s"] : sshCommand(over, timeoutMs);
  const code = over === undefined ? "DB_GATHER" : "DB_SSH";
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  let [complaint, isLate] = ["", false];
  /** It and what it started: they share a process group. */
  const kill = (): void => {
    try {
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    } catch {
      // Gone already.
    }
  };
  const timer = setTimeout(() => {
    isLate = true;
    kill();
  }, timeoutMs);
  child.stderr.on("data", (chunk: Buffer) => {
    if (complaint.length < LONGEST_COMPLAINT) complaint += chunk.toString("utf8");
  });
  // A program that ends without reading is reported by its exit code.
  child.stdin.on("error", () => undefined);
  child.stdin.end(script);
  const ended = once(child, "close").catch((reason: NodeJS.ErrnoException) => {
    const why = reason.code === "ENOENT" ? "it is not installed" : reason.message;
    throw new DrawbridgeError(code, `${program} cannot be run: ${why}.`);
  });
  ended.catch(() => undefined);
  try {
    yield* child.stdout as AsyncIterable<Buffer>;
    const [status] = (await ended) as [number | null];
    if (isLate)
      throw new DrawbridgeError(code, `${over?.host ?? "This host"} was not done within ${timeoutMs / 1000} s.`);
    if (status === 0) return;
    if (over !== undefined) throw sshFailure(over, status, complaint);
    const why = complaint.trim().split("\n").at(-1) || `it ended with ${status}`;
    throw new DrawbridgeError(code, `This host's files cannot be collected: ${why}.`);
  } finally {
    clearTimeout(timer);
    kill();
  }
}

/** All that it prints. Throws DB_SSH. */
export const scriptText = (run: ScriptRun): Promise<string> => text(scriptOutput(run));
