/** Runs a program of this host to its end. */
import { execFile } from "node:child_process";
import { messageOf } from "./errors/error.js";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface CommandOptions {
  /** Added to this process' environment. */
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

const DEFAULT_TIMEOUT_MS = 60_000;
const MOST_OUTPUT_BYTES = 16 * 1024 * 1024;

/** Never rejects: a program that is missing or too slow gives code 127 and the reason as stderr. */
export function runCommand(
  [program = "", ...args]: readonly string[],
  { env, timeoutMs: timeout = DEFAULT_TIMEOUT_MS }: CommandOptions = {},
): Promise<CommandResult> {
  const options = {
    env: { ...process.env, ...env },
    timeout,
    killSignal: "SIGKILL",
    maxBuffer: MOST_OUTPUT_BYTES,
  } as const;
  return new Promise((resolve) => {
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, stdout, stderr });
      if (typeof error.code === "number") return resolve({ code: error.code, stdout, stderr });
      const why = error.killed
        ? `it took longer than ${timeout / 1000} s`
        : `the program ${program} cannot be run: ${messageOf(error)}`;
      resolve({ code: 127, stdout, stderr: why });
    });
  });
}
