/** Runs the collection on a host, this one or one behind ssh, and hands on its files as they arrive. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { DrawbridgeError, messageOf } from "../../errors/error.js";
import type { BundleEntry } from "../analyze/bundle/entry.js";
import { tarEntries } from "../analyze/bundle/tar-entries.js";
import { type SshTarget, sshCommand, sshFailure } from "./ssh.js";

export interface HostRun {
  readonly script: string;
  /** Undefined: this host. */
  readonly over: SshTarget | undefined;
  readonly timeoutMs: number;
}

/** What one host can send; its script stays far below. */
const limits = { bytes: 1024 ** 3, members: 10_000 };
const longestComplaint = 64 * 1024;

/** Throws DB_SSH or DB_GATHER. */
export async function* hostEntries({ script, over, timeoutMs }: HostRun): AsyncGenerator<BundleEntry, void, void> {
  const [program = "", ...args] = over === undefined ? ["bash", "-s"] : sshCommand(over);
  const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
  let stderr = "";
  let late = false;
  child.stderr.on("data", (chunk: Buffer) => {
    if (stderr.length < longestComplaint) stderr += chunk.toString("utf8");
  });
  // A program that ends without reading is told about below.
  child.stdin.on("error", () => undefined);
  child.stdin.end(script);
  const ended = once(child, "close").then(([code]) => code as number | null);
  const failed = new Promise<never>((_, reject) => child.once("error", reject));
  failed.catch(() => undefined);
  const timer = setTimeout(() => {
    late = true;
    kill(child.pid);
  }, timeoutMs);
  try {
    yield* tarEntries(child.stdout as AsyncIterable<Buffer>, limits);
    const code = await Promise.race([ended, failed]);
    if (code !== 0) throw new Error(`it ended with ${code}`);
  } catch (reason) {
    const trouble = await Promise.race([ended, failed]).catch((error: unknown) => error);
    if (late) throw tooLate(over, timeoutMs);
    if (trouble instanceof Error) throw cannotRun(program, trouble);
    if (over !== undefined) throw sshFailure(over, trouble as number | null, stderr);
    const said = stderr.trim().split("\n").at(-1) || messageOf(reason);
    throw new DrawbridgeError("DB_GATHER", `This host's files cannot be collected: ${said}.`, { cause: reason });
  } finally {
    clearTimeout(timer);
    kill(child.pid);
  }
}

/** It and what it started: they share a process group. */
function kill(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // Gone already.
  }
}

function tooLate(over: SshTarget | undefined, timeoutMs: number): DrawbridgeError {
  const where = over?.host ?? "This host";
  return new DrawbridgeError(
    over === undefined ? "DB_GATHER" : "DB_SSH",
    `${where} was not done within ${timeoutMs / 1000} s.`,
  );
}

function cannotRun(program: string, reason: Error): DrawbridgeError {
  const why = (reason as NodeJS.ErrnoException).code === "ENOENT" ? "it is not installed" : reason.message;
  return new DrawbridgeError(program === "ssh" ? "DB_SSH" : "DB_GATHER", `${program} cannot be run: ${why}.`);
}
