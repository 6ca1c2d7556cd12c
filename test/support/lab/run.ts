import { execFile, execFileSync, type StdioOptions } from "node:child_process";
import { inNamespace } from "./process.js";

export interface Outcome {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  readonly netns?: string | undefined;
  readonly input?: string | undefined;
  readonly timeoutMs?: number | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

const LARGE_ENOUGH = 64 * 1024 * 1024;

/** Runs a command to its end. A non-zero exit is an answer, not an error. */
export function run(command: readonly string[], options: RunOptions = {}): Promise<Outcome> {
  const [program, ...args] = inNamespace(options.netns, command);
  return new Promise((resolve, reject) => {
    const child = execFile(
      program as string,
      args,
      {
        timeout: options.timeoutMs ?? 120_000,
        killSignal: "SIGKILL",
        maxBuffer: LARGE_ENOUGH,
        env: { ...process.env, ...options.env },
      },
      (error, stdout, stderr) => {
        if (error === null) return resolve({ code: 0, stdout, stderr });
        if (typeof error.code === "number") return resolve({ code: error.code, stdout, stderr });
        if (error.killed) return resolve({ code: 137, stdout, stderr: `${stderr}\nended by the lab's time limit` });
        reject(error);
      },
    );
    // A program that ends without reading its input is no failure of ours.
    child.stdin?.on("error", () => undefined);
    child.stdin?.end(options.input ?? "");
  });
}

/** Runs a command that must succeed and gives its output. */
export async function must(command: readonly string[], options: RunOptions = {}): Promise<string> {
  const { code, stdout, stderr } = await run(command, options);
  if (code !== 0) throw new Error(`${command.join(" ")} ended with ${code}: ${stderr.trim() || stdout.trim()}`);
  return stdout;
}

/** The same without an event loop, for the many small steps of making certificates. */
export function mustSync(command: readonly string[], env: RunOptions["env"] = {}): string {
  const [program, ...args] = command;
  const stdio: StdioOptions = ["ignore", "pipe", "pipe"];
  return execFileSync(program as string, args, { encoding: "utf8", stdio, env: { ...process.env, ...env } });
}
