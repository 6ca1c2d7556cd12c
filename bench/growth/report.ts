import { number, table } from "../results/format.js";
import { machineText } from "../results/machine.js";
import { KIB, MIB } from "./bytes.js";
import type { Roles } from "./costs.js";
import { BACK_WITHIN_SECONDS, BUSY, type Capacity, capacityOf, MEMORY_MIB, type Pieces, reachOf } from "./paper.js";
import type { GrowthReport } from "./run.js";
import type { Cost, Weight } from "./weight.js";

const mib = ({ residentMiB, ownMiB }: Weight) => `${number(residentMiB)} (${number(ownMiB)})`;
/** Memory and CPU of fewer than a hundred pieces say nothing about one of them. */
const kib = (count: number, { ownKiB }: Cost) => (count < 100 ? "" : number(ownKiB, 1));
const millis = (count: number, { cpuMillis }: Cost) => (count < 100 ? "" : number(cpuMillis, 2));

const CORES = [8, 64];

/** For people, and what docs/speed.md shows. */
export function growthText(report: GrowthReport): string {
  const { machine, date, minutes, problems } = report;
  const quiet = machine.loadBefore > 1 ? "**not quiet**" : "quiet";
  const parts = [
    problems.length === 0 ? "**In order.**" : `**Not in order**: ${problems.join("; ")}`,
    `${machineText(machine)}. ${date}, ${number(minutes, 1)} minutes; the machine was ${quiet} (load ${number(machine.loadBefore, 1)} before).`,
    ...measured(report),
  ];
  const pieces = piecesOf(report);
  return `${[...parts, ...(pieces ? onPaper(pieces) : [])].join("\n\n")}\n`;
}

function measured(report: GrowthReport): string[] {
  return [
    "Tunnels held at once; memory at rest, own memory in parentheses, and the CPU that opening one took:",
    table(
      [
        ...["Tunnels", "opened in, s", "server, MiB (own)", "each, KiB", "each, files", "each, CPU ms"],
        ...["agent, MiB (own)", "each, KiB", "each, files", "each, CPU ms"],
      ],
      report.tunnels.map(({ tunnels, openedSeconds, server, agent }) => [
        number(tunnels),
        number(openedSeconds, 2),
        ...[server, agent].flatMap((role) => [
          mib(role),
          kib(tunnels, role.each),
          number(role.each.files, 2),
          millis(tunnels, role.each),
        ]),
      ]),
    ),
    "Agents connected at once, a hundred in a process, and what each costs the server:",
    table(
      [
        ...["Agents", "connected in, s", "server, MiB (own)", "each, KiB", "each, files", "each, CPU ms"],
        ...["all agents, own MiB", "idle CPU of the server, %", "of all agents, %"],
      ],
      report.agents.map(({ agents, connectedSeconds, server, agentsOwnMiB, idleCpuPercent }) => [
        number(agents),
        number(connectedSeconds, 2),
        mib(server),
        kib(agents, server.each),
        number(server.each.files, 2),
        millis(agents, server.each),
        number(agentsOwnMiB),
        number(idleCpuPercent.server, 1),
        number(idleCpuPercent.agents, 1),
      ]),
    ),
    "Bytes in one tunnel, by how many are sent at once:",
    table(
      ["Bytes", "direction", "MB/s", "CPU, server + agent, s/GB"],
      report.bytes.map(({ bytes, direction, megabytesPerSecond, cpuSecondsPerGB }) => [
        bytes < MIB ? `${bytes / KIB} KiB` : `${number(bytes / MIB)} MiB`,
        direction,
        number(megabytesPerSecond, 1),
        // The kernel counts hundredths of a second.
        bytes === MIB ? "" : number(cpuSecondsPerGB, 2),
      ]),
    ),
    "All agents cut at once while a caller dials without a pause:",
    table(
      ["How", "agents", "dials", "refused", "last one refused after, s", "all back after, s"],
      report.recoveries.map((each) => [
        each.how === "links cut" ? "all links reset" : "server killed and started again",
        number(each.agents),
        number(each.dials),
        number(each.refused),
        number(each.refusedForSeconds, 1),
        number(each.allBackSeconds, 1),
      ]),
    ),
  ];
}

/** Of the rows with the most pieces; undefined where those are too few to tell what one costs. */
function piecesOf({ tunnels, agents, costs }: GrowthReport): Pieces | undefined {
  const [held, connected] = [tunnels.at(-1), agents.at(-1)];
  if (held === undefined || connected === undefined || held.tunnels < 100 || connected.agents < 100) return undefined;
  return {
    costs,
    tunnels: { count: held.tunnels, server: held.server, agent: held.agent },
    agents: { count: connected.agents, server: connected.server, idlePercent: connected.idleCpuPercent.server },
  };
}

function onPaper(pieces: Pieces): string[] {
  const { costs } = pieces;
  const line = (what: string, unit: string, { server, agent }: Roles, scale: number) => [
    what,
    `${number(server * scale, 2)} ${unit}`,
    `${number(agent * scale, 2)} ${unit}`,
  ];
  return [
    "### The limit that is hit first",
    "CPU for one piece of each kind of work, in a pair that does nothing else:",
    table(
      ["", "server", "agent"],
      [
        line("1 GB down, 8 tunnels", "s", costs.gigabyteDown, 1),
        line("1 GB up, 8 tunnels", "s", costs.gigabyteUp, 1),
        line("1 KB request, 64 tunnels", "µs", costs.request, 1e6),
        line("new tunnel, 32 at a time", "µs", costs.newTunnel, 1e6),
      ],
    ),
    `JavaScript runs on one core of each process. With a core for the server and another one for the agent, the costs above add up to these limits (memory: ${MEMORY_MIB} MiB, what the manifests of hosted clusters allow a process):`,
    table(
      ["Work", "limit that is hit first", "at", "then"],
      reachOf(pieces).map(({ what, unit, limits: [first, ...others] }) => [
        unit === "" ? what : `${what}, ${unit}`,
        first?.by ?? "",
        first ? rough(first.at) : "",
        others.map(({ by, at }) => `${by} at ${rough(at)}`).join("; "),
      ]),
    ).replace(/\| ---: \| ---: \| ---: \|$/m, "| --- | ---: | --- |"),
    "### On 8 and on 64 cores",
    `On paper, from the costs above: a server process on each core, ${BUSY * 100} % busy, with the agents on machines of their own. Callers are spread over the processes, so work grows with the cores. Every agent has a link to every process, so the number of agents does not (all of them back within ${BACK_WITHIN_SECONDS} s after a cut). Memory buses, the network and a balancer in front are not in it.`,
    capacityTable(CORES.map((cores) => capacityOf(cores, pieces))),
  ];
}

function capacityTable(machines: readonly Capacity[]): string {
  const row = (what: string, cell: (machine: Capacity) => string) => [what, ...machines.map(cell)];
  const bulk = (gigabytes: number) => `${number(gigabytes, 1)} (a network of ${rough(gigabytes * 8)} Gbit/s)`;
  return table(
    ["Servers only", ...machines.map(({ cores }) => `${cores} cores`)],
    [
      row("bulk down, GB/s", ({ gigabytesDown }) => bulk(gigabytesDown)),
      row("bulk up, GB/s", ({ gigabytesUp }) => bulk(gigabytesUp)),
      row("1 KB requests a second", ({ requests }) => rough(requests)),
      row("new tunnels a second", ({ newTunnels }) => rough(newTunnels)),
      row("tunnels held", ({ tunnels }) => rough(tunnels)),
      row("agents", ({ agents }) => rough(agents)),
      row("memory for all that, GiB", ({ memoryGiB }) => number(memoryGiB)),
    ],
  );
}

/** Two digits: it is an estimate. */
export const rough = (value: number): string => number(Number(value.toPrecision(2)));
