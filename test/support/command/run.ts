/** What the commands beside `src/` have in common: where they talk, and how they end. */

/** Standard error, so that --output json stays clean. */
export const say = (line: string): void => {
  process.stderr.write(`${line}\n`);
};

/**
 * Ends the process with the code that `main` answers, 2 when it throws a sentence, 130 when it is told to end. What still
 * runs on its behalf ends with it.
 */
export async function runCommand(name: string, main: () => Promise<number>): Promise<void> {
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => process.exit(130));
  let code = 2;
  try {
    code = await main();
  } catch (reason) {
    say(`${name}: ${reason instanceof Error ? reason.message : String(reason)}`);
  }
  process.stdout.write("", () => process.exit(code));
}
