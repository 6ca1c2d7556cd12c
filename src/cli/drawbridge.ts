/** The drawbridge executable: one word names the command, the rest belongs to it. */
import { DrawbridgeError } from "../errors/error.js";
import { complain, main } from "./command.js";
import { quote } from "./flags/go-text.js";
import { version } from "./version.js";

interface Command {
  readonly summary: string;
  run(argv: readonly string[]): Promise<number>;
}

const misuse = 2;

const commands: Readonly<Record<string, Command>> = {
  agent: {
    summary: "Dial out to proxy-servers and open connections for them (proxy-agent)",
    run: async (argv) => (await import("./agent-command.js")).agentCommand("drawbridge agent", argv, { misuse }),
  },
  server: {
    summary: "Take connections from an API server and hand them to agents (proxy-server)",
    run: async (argv) => (await import("./server-command.js")).serverCommand("drawbridge server", argv, { misuse }),
  },
};

function overview(): string {
  const width = Math.max(...Object.keys(commands).map((name) => name.length));
  const list = Object.entries(commands).map(([name, { summary }]) => `  ${name.padEnd(width)}   ${summary}\n`);
  return [
    "Lets a Kubernetes control plane reach networks it has no route to.\n\n",
    "Usage:\n  drawbridge COMMAND [flags]\n\nCommands:\n",
    ...list,
    "\ndrawbridge COMMAND --help lists a command's flags, drawbridge --version prints the version.\n",
  ].join("");
}

await main(async ([name, ...rest]) => {
  if (name === undefined || ["help", "--help", "-h"].includes(name)) {
    process.stdout.write(overview());
    return 0;
  }
  if (name === "--version" || name === "version") {
    process.stdout.write(`drawbridge ${version()}\n`);
    return 0;
  }
  const command = Object.hasOwn(commands, name) ? commands[name] : undefined;
  if (command) return command.run(rest);
  const known = Object.keys(commands).join(", ");
  const what = name.startsWith("-") ? "unknown flag" : "unknown command";
  complain(
    new DrawbridgeError(
      "DB_FLAG_UNKNOWN",
      `${what}: ${name.startsWith("-") ? name : quote(name)}; commands are: ${known}`,
    ),
  );
  return misuse;
});
