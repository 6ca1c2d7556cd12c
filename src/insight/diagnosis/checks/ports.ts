/** The server's ports: free, the server's own, or somebody else's. */
import { isProxyServer } from "../../../cluster/bootstrap/settings/command-line.js";
import type { DoctorContext, Listener } from "../context.js";
import { type Check, type Outcome, ok, wrong } from "../diagnosis.js";

export const portsFree: Check<DoctorContext> = {
  id: "ports",
  roles: ["server", "bootstrap"],
  async run({ host, agentPort, ports }) {
    const listeners = await host.listeners();
    const wanted = [
      [agentPort, "agents", "--agent-port"],
      [ports.health, "health", "--health-port"],
      [ports.admin, "admin", "--admin-port"],
    ] as const;
    return wanted.map(([port, what, flag]) => judge(port, what, flag, listeners));
  },
};

function judge(port: number, what: string, flag: string, listeners: readonly Listener[]): Outcome {
  const taken = listeners.find((listener) => listener.port === port);
  if (taken === undefined) return ok(`TCP ${port} (${what}) is free`);
  if (taken.owner === undefined) {
    return wrong(
      `TCP ${port} (${what}) is taken, by a process that this user may not see`,
      "Run doctor as root to see whose it is.",
    );
  }
  const { pid, words } = taken.owner;
  if (isProxyServer(words)) return ok(`TCP ${port} (${what}) is the server's (process ${pid})`);
  return wrong(
    `TCP ${port} (${what}) is taken by process ${pid}, which is no proxy-server`,
    `Stop it, or give the server another ${flag}${flag === "--agent-port" ? " and the agents the same --proxy-server-port" : ""}.`,
    `process ${pid}: ${words.join(" ").slice(0, 160)}`,
  );
}
