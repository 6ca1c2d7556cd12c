/** Commands that are found by their first word: drawbridge itself, and its families such as `drawbridge bootstrap`. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { wrapped } from "../../base/text.js";
import { quote } from "../flags/go-values.js";
import { MISUSE, type Runnable } from "./define.js";
import { paragraphs, terminalWidth } from "./help.js";
import { complain, print } from "./output.js";

/** A command, or the module whose default export it is. */
type Load = () => Promise<Runnable | { readonly default: Runnable }>;
/** By name. Each is loaded only when it is called. */
type Commands = Readonly<Record<string, readonly [summary: string, load: Load]>>;

export function defineFamily(purpose: string, commands: Commands): Runnable {
  return {
    async run(program, [name, ...rest], misuse = MISUSE) {
      if (name === undefined || ["help", "--help", "-h"].includes(name)) {
        print(overview(program, purpose, commands, terminalWidth()));
        return 0;
      }
      const [, load] = (Object.hasOwn(commands, name) && commands[name]) || [];
      if (load !== undefined) {
        const loaded = await load();
        return ("default" in loaded ? loaded.default : loaded).run(`${program} ${name}`, rest, misuse);
      }
      const known = Object.keys(commands).join(", ");
      const what = name.startsWith("-") ? `unknown flag: ${name}` : `unknown command: ${quote(name)}`;
      complain(new DrawbridgeError("DB_FLAG_UNKNOWN", `${what}; commands of ${program} are: ${known}`));
      return misuse;
    },
  };
}

function overview(program: string, purpose: string, commands: Commands, width: number): string {
  const column = Math.max(...Object.keys(commands).map((name) => name.length)) + 5;
  const list = Object.entries(commands).map(([name, [summary]]) => {
    const [first, ...more] = wrapped(summary, width - column);
    return [`  ${name}`.padEnd(column) + first, ...more.map((line) => " ".repeat(column) + line), ""].join("\n");
  });
  return [
    `${paragraphs(purpose, width)}\n\n`,
    `Usage:\n  ${program} COMMAND [flags]\n\nCommands:\n`,
    ...list,
    `\n${program} COMMAND --help lists a command's flags.\n`,
  ].join("");
}
