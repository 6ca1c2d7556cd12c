import { execFile } from "node:child_process";
import { promisify } from "node:util";

const execute = promisify(execFile);

/** Runs a command to its end and returns what it printed; its own complaint is the error. */
export async function command(...argv: readonly string[]): Promise<string> {
  const [program = "", ...rest] = argv;
  try {
    return (await execute(program, rest)).stdout;
  } catch (error) {
    const complaint = (error as { stderr?: string }).stderr?.trim() || (error as Error).message;
    throw new Error(`${argv.join(" ")}: ${complaint}`);
  }
}
