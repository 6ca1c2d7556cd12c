/** Commands that are found by their first word: drawbridge itself, and its families such as `drawbridge bootstrap`. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { quote } from "../flags/go-text.js";
import { complain } from "./command.js";

export interface Command {
  readonly summary: string;
  run(argv: readonly string[]): Promise<number>;
}

export interface Family {
  /** As it is called: "drawbridge", "drawbridge bootstrap". */
  readonly program: string;
  readonly purpose: string;
  readonly commands: Readonly<Record<string, Command>>;
}

export const MISUSE = 2;

/** Resolves to the exit code. */
export async function runFamily(family: Family, [name, ...rest]: readonly string[]): Promise<number> {
  if (name === undefined || ["help", "--help", "-h"].includes(name)) {
    process.stdout.write(overview(family));
    return 0;
  }
  const command = Object.hasOwn(family.commands, name) ? family.commands[name] : undefined;
  if (command) return command.run(rest);
  const known = Object.keys(family.commands).join(", ");
  const what = name.startsWith("-") ? `unknown flag: ${name}` : `unknown command: ${quote(name)}`;
  complain(new DrawbridgeError("DB_FLAG_UNKNOWN", `${what}; commands of ${family.program} are: ${known}`));
  return MISUSE;
}

function overview({ program, purpose, commands }: Family): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}   ${summary}\n`);
  return [
    `${purpose}\n\n`,
    `Usage:\n  ${program} COMMAND [flags]\n\nCommands:\n`,
    ...list,
    `\n${program} COMMAND --help lists a command's flags.\n`,
  ].join("");
}
