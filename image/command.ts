import { execFile } from "node:child_process";

export interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const LARGE_ENOUGH = 16 * 1024 * 1024;
const PATIENCE_MS = 10 * 60_000;
const NOT_FOUND = 127;

/** Runs a program to its end; that it is not there at all is an answer too, the shell's. */
export function command(program: string, args: readonly string[], cwd?: string): Promise<CommandResult> {
  return new Promise((resolve) => {
    const options = { cwd, maxBuffer: LARGE_ENOUGH, timeout: PATIENCE_MS };
    execFile(program, args, options, (error, stdout, stderr) => {
      if (error === null) return resolve({ code: 0, stdout, stderr });
      const code = typeof error.code === "number" ? error.code : error.code === "ENOENT" ? NOT_FOUND : 1;
      resolve({ code, stdout, stderr: stderr || error.message });
    });
  });
}
