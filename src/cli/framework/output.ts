/** The only places where results are written and where the process ends. */
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { printable } from "../../base/text.js";

/** Results of commands, on standard output. */
export function print(text: string): void {
  process.stdout.write(text);
}

/** Progress, warnings and hints, on standard error. */
export function note(text: string): void {
  process.stderr.write(text);
}

/** One line that starts as upstream's does; the code and the next step follow. */
export function complain(error: unknown): void {
  const advice = error instanceof DrawbridgeError ? ` (${error.code}: ${error.remedy})` : "";
  // Peers' names and answers may be in the sentence.
  note(`Error: ${printable(messageOf(error))}${advice}\n`);
}

/** Ends the process for good: sockets or timers that are still open must not keep it. */
export async function main(command: (argv: readonly string[]) => Promise<number>): Promise<void> {
  // Without a listener, Node answers SIGUSR1 with a debugger on a local port, open to every user of the host.
  process.on("SIGUSR1", () => {});
  process.exit(await command(process.argv.slice(2)));
}
