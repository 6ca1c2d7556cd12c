import { readFileSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { freePort } from "../processes/ports.js";
import { LabProcess } from "./process.js";
import type { ServerPorts } from "./proxy-server.js";
import type { Scope } from "./scope.js";
import { toolPath } from "./tools.js";

const HOST = "127.0.0.1";

/**
 * A real HAProxy in TCP mode, one address for callers and one for agents, with every server that may ever be there. Who
 * really is, it learns from the servers' health ports: agents go to any that is alive, callers to those that have agents.
 */
export class HaProxy {
  readonly callersPort: number;
  readonly agentsPort: number;

  private constructor(callersPort: number, agentsPort: number) {
    this.callersPort = callersPort;
    this.agentsPort = agentsPort;
  }

  static async start(scope: Scope, name: string, servers: readonly ServerPorts[]): Promise<HaProxy> {
    const balancer = new HaProxy(await freePort(), await freePort());
    const file = scope.file(`${name}.cfg`);
    writeFileSync(file, balancer.#configuration(servers));
    const running = LabProcess.start(scope, { name, command: [toolPath("haproxy") ?? "haproxy", "-db", "-f", file] });
    const ports = [balancer.callersPort, balancer.agentsPort];
    await running.ready("listening", 30_000, async () => (await Promise.all(ports.map(accepts))).every(Boolean));
    return balancer;
  }

  /** The page's own, with this lab's addresses and one line for each of its servers. */
  #configuration(servers: readonly ServerPorts[]): string {
    const addresses = new Map([
      ["192.0.2.10:8090", this.callersPort],
      ["192.0.2.10:8091", this.agentsPort],
    ]);
    const lines = documented().flatMap((line) => {
      const [, shown = "", rest = ""] = /^ {2}server s1 10\.0\.0\.1:(\d+)( .*)$/.exec(line) ?? [];
      if (shown === "") return line.startsWith("  server ") ? [] : [line];
      return servers.map(({ frontend, agents, health }, index) => {
        const port = shown === "8090" ? frontend : agents;
        return `  server s${index + 1} ${HOST}:${port}${rest.replace("8092", String(health))}`;
      });
    });
    return `${lines.join("\n").replaceAll(/192\.0\.2\.10:\d+/g, (shown) => `${HOST}:${addresses.get(shown)}`)}\n`;
  }
}

/** The configuration that docs/ha.md gives its readers. */
function documented(): string[] {
  const page = readFileSync(new URL("../../../docs/ha.md", import.meta.url), "utf8");
  const [, shown] = /\n## A balancer\n[\s\S]*?\n```\n([\s\S]*?)\n```\n/.exec(page) ?? [];
  if (shown === undefined) throw new Error("docs/ha.md has no configuration below its heading A balancer");
  return shown.split("\n");
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
