/** The drawbridge executable: one word names the command, the rest belongs to it. */
import { main } from "./command.js";
import { type Family, misuse, runFamily } from "./subcommands.js";
import { version } from "./version.js";

const drawbridge: Family = {
  program: "drawbridge",
  purpose: "Lets a Kubernetes control plane reach networks it has no route to.",
  commands: {
    agent: {
      summary: "Dial out to proxy-servers and open connections for them (proxy-agent)",
      run: async (argv) => (await import("./agent-command.js")).agentCommand("drawbridge agent", argv, { misuse }),
    },
    server: {
      summary: "Take connections from an API server and hand them to agents (proxy-server)",
      run: async (argv) => (await import("./server-command.js")).serverCommand("drawbridge server", argv, { misuse }),
    },
    version: { summary: "Print the version", run: printVersion },
  },
};

async function printVersion(): Promise<number> {
  process.stdout.write(`drawbridge ${version()}\n`);
  return 0;
}

await main((argv) => (argv[0] === "--version" ? printVersion() : runFamily(drawbridge, argv)));
