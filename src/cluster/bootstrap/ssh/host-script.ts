/** A script that a host's bash reads from its standard input: this host's, or one's behind ssh. */
import { type ChildProcessWithoutNullStreams, spawn } from "node:child_process";
import { once } from "node:events";
import { buffer } from "node:stream/consumers";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { type SshTarget, sshCommand, sshFailure } from "./ssh.js";

export interface ScriptRun {
  readonly script: string;
  /** Undefined: this host. */
  readonly over: SshTarget | undefined;
  readonly timeoutMs: number;
}

const LONGEST_COMPLAINT = 64 * 1024;

export class HostScript {
  readonly #run: ScriptRun;
  readonly #program: string;
  readonly #child: ChildProcessWithoutNullStreams;
  readonly #ended: Promise<number | null>;
  readonly #timer: NodeJS.Timeout;
  #stderr = "";
  #isLate = false;

  constructor(run: ScriptRun) {
    const { script, over, timeoutMs } = run;
    const [program = "", ...args] = over === undefined ? ["bash", "-s"] : sshCommand(over, timeoutMs);
    this.#run = run;
    this.#program = program;
    const child = spawn(program, args, { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => {
      if (this.#stderr.length < LONGEST_COMPLAINT) this.#stderr += chunk.toString("utf8");
    });
    // A program that ends without reading is reported by its exit code.
    child.stdin.on("error", () => undefined);
    child.stdin.end(script);
    const failed = new Promise<never>((_, reject) => child.once("error", reject));
    this.#ended = Promise.race([once(child, "close").then(([code]) => code as number | null), failed]);
    this.#ended.catch(() => undefined);
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#kill();
    }, timeoutMs);
  }

  get stdout(): AsyncIterable<Buffer> {
    return this.#child.stdout as AsyncIterable<Buffer>;
  }

  /** Rejects unless it ends well. */
  async succeeded(): Promise<void> {
    const code = await this.#ended;
    if (code !== 0) throw new Error(`it ended with ${code}`);
  }

  /** Why it failed, as far as the program or ssh explains it; otherwise the reason given. */
  async failure(reason: unknown): Promise<DrawbridgeError> {
    const { over, timeoutMs } = this.#run;
    const trouble = await this.#ended.catch((error: unknown) => error);
    if (this.#isLate) return tooLate(over, timeoutMs);
    if (trouble instanceof Error) return cannotRun(this.#program, trouble);
    if (over !== undefined) return sshFailure(over, trouble as number | null, this.#stderr);
    const said = this.#stderr.trim().split("\n").at(-1) || messageOf(reason);
    return new DrawbridgeError("DB_GATHER", `This host's files cannot be collected: ${said}.`, { cause: reason });
  }

  /** Whatever is still running. */
  end(): void {
    clearTimeout(this.#timer);
    this.#kill();
  }

  /** It and what it started: they share a process group. */
  #kill(): void {
    if (this.#child.pid === undefined) return;
    try {
      process.kill(-this.#child.pid, "SIGKILL");
    } catch {
      // Gone already.
    }
  }
}

/** All that it prints. Throws DB_SSH. */
export async function scriptText(run: ScriptRun): Promise<string> {
  const running = new HostScript(run);
  try {
    const text = (await buffer(running.stdout)).toString("utf8");
    await running.succeeded();
    return text;
  } catch (reason) {
    throw await running.failure(reason);
  } finally {
    running.end();
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
