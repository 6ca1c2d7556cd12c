import { waitUntil } from "../../test/support/processes/deadline.js";
import type { Place } from "../isolation/place.js";
import { AGENTS, type AgentName, type Pki } from "../pki.js";
import type { Processes, Running } from "../processes/processes.js";
import type { Show } from "../report/show.js";
import { startAgent } from "../tunnel/agent.js";
import { type ProxyServer, startServer } from "../tunnel/server.js";

export interface Tunnel {
  readonly server: ProxyServer;
  readonly agents: Map<AgentName, Running>;
  /** Starts an agent (again); it is connected when this resolves. */
  join(name: AgentName): Promise<void>;
}

export async function openTunnel(
  processes: Processes,
  folder: string,
  place: Place,
  pki: Pki,
  show: Show,
): Promise<Tunnel> {
  const server = await startServer(processes, folder, place, pki);
  for (const { title } of Object.values(server.frontends)) show.note(`frontend: ${title}`);
  const agents = new Map<AgentName, Running>();
  const join = async (name: AgentName) => {
    agents.set(name, await startAgent(processes, place, pki, name, server.agentPort));
    await waitUntil(`${name} to connect`, async () => (await server.admin.agents()).some(({ id }) => id === name));
  };
  await Promise.all(AGENTS.map(join));
  await waitUntil("the proxy-server to be ready", () => server.isReady());
  const pids = [server.process, ...agents.values()].map(({ name, pid }) => `${name} ${pid}`).join(", ");
  show.note(`processes: ${pids}`);
  show.result("three frontends open, two agents connected, /readyz says ok");
  return { server, agents, join };
}
