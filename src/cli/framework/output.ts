/** The only places where results are written and where the process ends. */
import { fstatSync, writeSync } from "node:fs";
import { painterFor } from "../../base/colour.js";
import { causeFields, DrawbridgeError, messageOf } from "../../base/errors/error.js";
import { hanging } from "../../base/hanging.js";
import { printable, safeJson } from "../../base/text.js";

/** Why the first part of a result that was not written was not, if there is one. */
let failure: NodeJS.ErrnoException | undefined;

let write = (text: string): void => {
  process.stdout.write(text);
};

/** Results of commands, on standard output. `main` reports a failure. */
export function print(text: string): void {
  write(text);
}

/** Progress, warnings and hints, on standard error. */
export function note(text: string): void {
  process.stderr.write(text);
}

/** How people, or scripts, are told of errors and warnings. */
export type Tone = "text" | "json";

/** Errors are JSON where results are; a command line that cannot be read as a whole says it nevertheless. */
export const toneOf = (argv: readonly string[]): Tone =>
  argv.some(
    (word, at) => /^(--output=|-o=?)json$/.test(word) || (/^(--output|-o)$/.test(word) && argv[at + 1] === "json"),
  )
    ? "json"
    : "text";

/** One line that starts as upstream's does; the code and the next step follow. */
export function complain(reason: unknown, tone: Tone = "text"): void {
  const error = outOfFiles(reason) ?? reason;
  const { code, remedy } = causeFields(error);
  // Peers' names and answers may be in the sentence.
  const message = printable(messageOf(error));
  if (tone === "json") note(`${safeJson({ error: { code, message, remedy } })}\n`);
  else {
    const lead = `${painterFor(process.stderr)("Error:", "bold", "red")} `;
    note(hanging(lead, `${message}${code ? ` (${code}: ${remedy})` : ""}`, "Error: ".length, process.stderr));
  }
}

/** Whatever was to be opened, it is the limit that keeps it closed: of this process, or with ENFILE of the whole host. */
function outOfFiles(reason: unknown): DrawbridgeError | undefined {
  const code = (reason as NodeJS.ErrnoException | undefined)?.code;
  if (code !== "EMFILE" && code !== "ENFILE") return undefined;
  const whose = code === "EMFILE" ? "this process may not open more files" : "this host cannot open more files";
  return new DrawbridgeError("DB_OPEN_FILES", `${whose}: ${messageOf(reason)}`, { cause: reason });
}

export function warn(sentence: string, tone: Tone): void {
  if (tone === "json") note(`${safeJson({ warning: { message: sentence } })}\n`);
  else note(`${painterFor(process.stderr)("Warning:", "yellow")} ${sentence}\n`);
}

/** Ends the process for good once everything is written: sockets or timers that are still open must not keep it. */
export async function main(command: (argv: readonly string[]) => Promise<number>): Promise<void> {
  // Without a listener, Node answers SIGUSR1 with a debugger on a local port, open to every user of the host.
  process.on("SIGUSR1", () => {});
  if (fstatSync(STDOUT).isFile()) write = writeToFile;
  process.stdout.on("error", noteFailure);
  // Nobody can be told that standard error is closed.
  process.stderr.on("error", () => {});
  const argv = process.argv.slice(2);
  const code = await command(argv).catch((error: unknown) => {
    complain(error, toneOf(argv));
    return 1;
  });
  await flushed(process.stdout);
  const failed = reportFailure();
  await flushed(process.stderr);
  process.exit(failed ? 1 : code);
}

const STDOUT = 1;

/** Node's own stream drops the rest of a text of which the disk took a part. */
function writeToFile(text: string): void {
  let rest = Buffer.from(text);
  try {
    while (rest.length > 0) rest = rest.subarray(writeSync(STDOUT, rest));
  } catch (error) {
    noteFailure(error as NodeJS.ErrnoException);
  }
}

function noteFailure(error: NodeJS.ErrnoException): void {
  failure ??= error;
}

/** Resolves when the reader has taken everything, or has gone away. */
function flushed(stream: NodeJS.WriteStream): Promise<void> {
  return new Promise((resolve) => {
    if (stream.destroyed) resolve();
    else stream.write("", () => resolve());
  });
}

/** Whether the result is not complete. A reader that went away has read what it wanted, as head does. */
function reportFailure(): boolean {
  if (failure === undefined || failure.code === "EPIPE") return false;
  const why = messageOf(failure);
  const sentence = `the result cannot be written to standard output: ${why}`;
  complain(new DrawbridgeError("DB_OUTPUT", sentence), toneOf(process.argv));
  return true;
}
