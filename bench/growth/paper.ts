/** On paper: what measured costs add up to, in one process and in several side by side. */
import type { Costs, Roles } from "./costs.js";
import type { Cost, Weight } from "./weight.js";

/** What the run has found out about one piece of each kind. */
export interface Pieces {
  readonly costs: Costs;
  /** So many tunnels were held, by a server and an agent. */
  readonly tunnels: { readonly count: number } & { readonly [role in keyof Roles]: Held };
  /** So many agents were connected, to a server that took that share of a core when nothing was to be done. */
  readonly agents: { readonly count: number; readonly server: Held; readonly idlePercent: number };
}

type Held = Weight & { readonly each: Cost };

/** Of a container in the manifests of `drawbridge hosted render`. */
export const MEMORY_MIB = 640;
/** Of a container, as containerd starts it. */
export const OPEN_FILES = 1_048_576;
/** Linux's default range: so many connections can an agent have to one address and port. */
export const LOCAL_PORTS = 28_232;
/** What reliability.md promises after all agents were cut at once. */
export const BACK_WITHIN_SECONDS = 10;
/** A process that is busier than that makes its callers wait. */
export const BUSY = 0.7;
/** Of a server that has nothing to do. */
const IDLE_AT_MOST = 0.1;

export interface Limit {
  readonly by: string;
  readonly at: number;
}

export interface Reach {
  readonly what: string;
  readonly unit: string;
  /** The one that is hit first comes first. */
  readonly limits: readonly Limit[];
}

/** What one server process, with one core, can do with one agent process; of agents, how many one server process can have. */
export function reachOf({ costs, tunnels, agents }: Pieces): Reach[] {
  const cores = (what: string, unit: string, { server, agent: other }: Roles, scale = 1): Reach =>
    reach(what, unit, [
      { by: "the server's core", at: scale / server },
      { by: "the agent's core", at: scale / other },
    ]);
  return [
    cores("bulk down", "MB/s", costs.gigabyteDown, 1e3),
    cores("bulk up", "MB/s", costs.gigabyteUp, 1e3),
    cores("1 KB requests", "a second", costs.request),
    cores("new tunnels", "a second", costs.newTunnel),
    reach("tunnels held", "", [
      { by: `${MEMORY_MIB} MiB of the server's memory`, at: fitting(tunnels.server, tunnels.count) },
      { by: `${MEMORY_MIB} MiB of the agent's memory`, at: fitting(tunnels.agent, tunnels.count) },
      { by: "the server's open files", at: OPEN_FILES / tunnels.server.each.files },
      { by: "local ports, if all go to one endpoint", at: LOCAL_PORTS },
    ]),
    agentsReach(agents),
  ];
}

const agentsReach = ({ count, server, idlePercent }: Pieces["agents"]): Reach =>
  reach("agents of one server", "", [
    { by: `${MEMORY_MIB} MiB of its memory`, at: fitting(server, count) },
    { by: "its open files", at: OPEN_FILES / server.each.files },
    {
      by: `handshakes, if all are to be back within ${BACK_WITHIN_SECONDS} s`,
      at: (BACK_WITHIN_SECONDS * 1e3) / server.each.cpuMillis,
    },
    {
      by: `idle CPU, if ${IDLE_AT_MOST * 100} % of a core are spared for it`,
      at: (count * IDLE_AT_MOST * 100) / idlePercent,
    },
  ]);

/** What could not be measured limits nothing. */
const reach = (what: string, unit: string, limits: readonly Limit[]): Reach => ({
  ...{ what, unit },
  limits: limits.filter(({ at }) => Number.isFinite(at) && at > 0).toSorted((a, b) => a.at - b.at),
});

/** How many fit into the memory of a process that holds so many already. */
const fitting = ({ residentMiB, each }: Held, count: number): number =>
  count + ((MEMORY_MIB - residentMiB) * 1024) / each.ownKiB;

export interface Capacity {
  readonly cores: number;
  readonly gigabytesDown: number;
  readonly gigabytesUp: number;
  readonly requests: number;
  readonly newTunnels: number;
  readonly tunnels: number;
  readonly agents: number;
  readonly memoryGiB: number;
}

/**
 * A machine whose cores all run server processes, with its agents on other machines. Work is shared, so it grows with the
 * processes; each agent has a link to every one of them, so agents do not.
 */
export function capacityOf(cores: number, pieces: Pieces): Capacity {
  const { costs, tunnels, agents } = pieces;
  const each = (role: Roles) => (cores * BUSY) / role.server;
  return {
    cores,
    gigabytesDown: each(costs.gigabyteDown),
    gigabytesUp: each(costs.gigabyteUp),
    requests: each(costs.request),
    newTunnels: each(costs.newTunnel),
    tunnels: cores * Math.min(fitting(tunnels.server, tunnels.count), OPEN_FILES / tunnels.server.each.files),
    agents: agentsReach(agents).limits[0]?.at ?? 0,
    memoryGiB: (cores * MEMORY_MIB) / 1024,
  };
}
