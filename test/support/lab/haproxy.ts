import { writeFileSync } from "node:fs";
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

  /** docs/ha.md explains it line by line. */
  #configuration(servers: readonly ServerPorts[]): string {
    const lines = (port: (each: ServerPorts) => number) =>
      servers.map((each, index) => `  server s${index + 1} ${HOST}:${port(each)} check port ${each.health}`).join("\n");
    return `
defaults
  mode tcp
  balance roundrobin
  retries 3
  option redispatch 1
  timeout connect 2s
  timeout client 1h
  timeout server 1h
  timeout check 2s
  default-server inter 250ms fall 2 rise 1

listen callers
  bind ${HOST}:${this.callersPort}
  option httpchk GET /readyz
${lines(({ frontend }) => frontend)}

listen agents
  bind ${HOST}:${this.agentsPort}
  option httpchk GET /healthz
${lines(({ agents }) => agents)}
`;
  }
}

function accepts(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, HOST);
    socket.once("connect", () => resolve(true)).once("error", () => resolve(false));
    socket.once("connect", () => socket.destroy());
  });
}
