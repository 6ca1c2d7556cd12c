/** One man page for each program, and one for each command or family of drawbridge. */
import { drawbridge } from "../../src/cli/commands.js";
import type { CommandPage, Environment, Runnable } from "../../src/cli/framework/define.js";
import { everyCommand } from "../../src/cli/framework/family.js";
import { VERSION } from "../../src/cli/framework/version.js";
import agentCommand from "../../src/cli/tunnel/agent.js";
import { httpsProxyCommand, socks5ProxyCommand } from "../../src/cli/tunnel/konnectivity.js";
import serverCommand from "../../src/cli/tunnel/server.js";
import { manPage, pageName } from "./roff.js";

/** Names that every process makes up for itself must not make every build another one. */
const ENVIRONMENT: Environment = { PROXY_SERVER_ID: "a random UUID", PROXY_AGENT_ID: "a random UUID" };

const others: readonly (readonly [string, string, Runnable])[] = [
  ["proxy-server", "take connections and hand them to agents", serverCommand],
  ["proxy-agent", "dial proxy-servers and open connections for them", agentCommand],
  ["konnectivity-https-proxy", "serve the sidecar's HTTP proxy under HyperShift's name and flags", httpsProxyCommand],
  [
    "konnectivity-socks5-proxy",
    "serve the sidecar's SOCKS5 proxy under HyperShift's name and flags",
    socks5ProxyCommand,
  ],
];

/** By file name. */
export async function manPages(): Promise<Map<string, string>> {
  const top = drawbridge.page("drawbridge", ENVIRONMENT);
  if (!("commands" in top)) throw new Error("drawbridge is no family of commands");
  const summaries = Object.entries(top.commands).map(([name, [summary]]) => [`drawbridge ${name}`, summary] as const);
  const programs = new Map<string, Runnable>();
  for await (const [program, command] of everyCommand("drawbridge", drawbridge)) programs.set(program, command);
  const pages = [
    page(
      "drawbridge",
      "let a Kubernetes control plane reach networks it has no route to",
      drawbridge,
      [],
      [...summaries.map(([program]) => pageName(program)), ...others.map(([program]) => program)],
    ),
    ...others.map(([program, summary, command]) => page(program, summary, command, [], ["drawbridge"])),
    ...summaries.map(([program, summary]) => {
      const members = [...programs].filter(([name]) => name.startsWith(`${program} `));
      return page(program, `${summary[0]!.toLowerCase()}${summary.slice(1)}`, programs.get(program)!, members, [
        "drawbridge",
      ]);
    }),
  ];
  return new Map(pages);
}

function page(
  program: string,
  summary: string,
  command: Runnable,
  members: readonly (readonly [string, Runnable])[],
  related: readonly string[],
): [file: string, text: string] {
  const shown = members.map(([name, member]) => [name, member.page(name, ENVIRONMENT) as CommandPage] as const);
  const text = manPage({
    ...{ program, summary, members: shown, related, version: VERSION },
    page: command.page(program, ENVIRONMENT),
  });
  return [`${pageName(program)}.1`, text];
}
