/** Commands that are found by their first word: drawbridge itself, and its families such as `drawbridge bootstrap`. */
import { wrapped } from "../../base/text.js";
import { quote } from "../flags/go-values.js";
import { unknown } from "../flags/parse.js";
import { suggestion } from "../flags/suggestion.js";
import { type Commands, MISUSE, type Runnable } from "./define.js";
import { headingOf, paragraphs, terminalWidth } from "./help.js";
import { complain, print, toneOf } from "./output.js";
import { versionText } from "./version.js";

export function defineFamily(purpose: string, commands: Commands): Runnable {
  const family: Runnable = {
    page: () => ({ purpose, commands }),
    async run(program, [name, ...rest], misuse = MISUSE) {
      // `help pki init` is `pki init --help`.
      if (name === "help" && rest.length > 0) return family.run(program, [...rest, "--help"], misuse);
      if (name === undefined || ["help", "--help", "-h"].includes(name)) {
        print(overview(program, purpose, commands, terminalWidth()));
        return 0;
      }
      if (name === "--version" || name === "-v") {
        print(versionText(program));
        return 0;
      }
      const command = await commandOf(commands, name);
      if (command !== undefined) return command.run(`${program} ${name}`, rest, misuse);
      const isFlag = name.startsWith("-");
      const names = isFlag ? ["--help", "--version"] : Object.keys(commands);
      const what = isFlag ? `unknown flag: ${name}` : `unknown command: ${quote(name)}`;
      const known = `; commands of ${program} are: ${Object.keys(commands).join(", ")}`;
      const others = known.length <= MOST_NAMED ? known : `; ${program} --help lists what there is`;
      complain(unknown(what + (suggestion(name, names) || others)), toneOf(rest));
      return misuse;
    },
  };
  return family;
}

/** Letters of a list that is still read. */
const MOST_NAMED = 100;

/** Undefined: there is no command of that name. */
export async function commandOf(commands: Commands, name: string): Promise<Runnable | undefined> {
  if (!Object.hasOwn(commands, name)) return undefined;
  const loaded = await commands[name]![1]();
  return "default" in loaded ? loaded.default : loaded;
}

/** The command itself and, of a family, all that are in it. */
export async function* everyCommand(program: string, command: Runnable): AsyncGenerator<[program: string, Runnable]> {
  yield [program, command];
  const page = command.page(program, {});
  if (!("commands" in page)) return;
  for (const name of Object.keys(page.commands)) {
    const next = await commandOf(page.commands, name);
    if (next !== undefined) yield* everyCommand(`${program} ${name}`, next);
  }
}

function overview(program: string, purpose: string, commands: Commands, width: number): string {
  const column = Math.max(...Object.keys(commands).map((name) => name.length)) + 5;
  const list = Object.entries(commands).map(([name, [summary]]) => {
    const [first, ...more] = wrapped(summary, width - column);
    return [`  ${name}`.padEnd(column) + first, ...more.map((line) => " ".repeat(column) + line), ""].join("\n");
  });
  return [
    `${paragraphs(purpose, width)}\n\n`,
    `${headingOf("Usage")}  ${program} COMMAND [flags]\n\n${headingOf("Commands")}`,
    ...list,
    `\n${program} COMMAND --help lists a command's flags.\n`,
  ].join("");
}
