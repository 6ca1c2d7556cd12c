/** What every executable does around its command: run it, say in one line what went wrong, end with a code. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { printable } from "../../base/text.js";
import type { Environment, Invocation, LoggingOptions } from "./invocation.js";

/** Upstream's executables end with 1 whatever went wrong; drawbridge keeps 1 for failures and 2 for misuse. */
export interface ExitCodes {
  readonly misuse: number;
}

interface Role<Config> {
  readonly parse: (argv: readonly string[], env: Environment, program: string) => Invocation<Config>;
  /** Resolves to the exit code when the process should end. Loaded only once the command line is known to be good. */
  readonly run: (config: Config, logging: LoggingOptions) => Promise<number>;
}

/** Resolves to the exit code. */
export async function runRole<Config>(
  role: Role<Config>,
  program: string,
  argv: readonly string[],
  exitCodes: ExitCodes,
): Promise<number> {
  let invocation: Invocation<Config>;
  try {
    invocation = role.parse(argv, process.env, program);
  } catch (error) {
    complain(error);
    return exitCodes.misuse;
  }
  if (invocation.help !== undefined) {
    process.stdout.write(invocation.help);
    return 0;
  }
  for (const warning of invocation.warnings) process.stderr.write(`Warning: ${warning}\n`);
  try {
    return await role.run(invocation.config, invocation.logging);
  } catch (error) {
    complain(error);
    // Some values are only read where they are used, a destination rule say; they are misuse all the same.
    return error instanceof DrawbridgeError && error.code === "DB_FLAG_VALUE" ? exitCodes.misuse : 1;
  }
}

/** One line that starts as upstream's does; the code and the next step follow. */
export function complain(error: unknown): void {
  const advice = error instanceof DrawbridgeError ? ` (${error.code}: ${error.remedy})` : "";
  process.stderr.write(`Error: ${printable(messageOf(error))}${advice}\n`);
}
