import { number, table } from "../results/format.js";
import { machineText } from "../results/machine.js";
import type { GrowthReport } from "./run.js";
import type { Cost, Weight } from "./weight.js";

const mib = ({ residentMiB, ownMiB }: Weight) => `${number(residentMiB, 0)} (${number(ownMiB, 0)})`;
const kib = (count: number, { ownKiB }: Cost) => (count < 100 ? "" : number(ownKiB, 1));

/** For people; memory of fewer than a hundred pieces says nothing about one of them and is left out. */
export function growthText(report: GrowthReport): string {
  const { machine, minutes, problems } = report;
  const parts = [
    problems.length === 0 ? "**In order.**" : `**Not in order**: ${problems.join("; ")}`,
    `${machineText(machine)}, load ${number(machine.loadBefore, 1)} before; ${number(minutes, 1)} minutes.`,
    table(
      [
        "Tunnels held",
        "opened in, s",
        "server, MiB (own)",
        "each, KiB",
        "each, files",
        "agent, MiB (own)",
        "each, KiB",
        "each, files",
      ],
      report.tunnels.map(({ tunnels, openedSeconds, server, agent }) => [
        number(tunnels, 0),
        number(openedSeconds, 2),
        mib(server),
        kib(tunnels, server.each),
        number(server.each.files, 2),
        mib(agent),
        kib(tunnels, agent.each),
        number(agent.each.files, 2),
      ]),
    ),
    table(
      [
        "Agents connected",
        "connected in, s",
        "server, MiB (own)",
        "each, KiB",
        "each, files",
        "all agents, 100 a process, own MiB",
        "idle CPU of the server, %",
        "of all agents, %",
      ],
      report.agents.map(({ agents, connectedSeconds, server, agentsOwnMiB, idleCpuPercent }) => [
        number(agents, 0),
        number(connectedSeconds, 2),
        mib(server),
        kib(agents, server.each),
        number(server.each.files, 2),
        number(agentsOwnMiB, 0),
        number(idleCpuPercent.server, 1),
        number(idleCpuPercent.agents, 1),
      ]),
    ),
    table(
      ["MiB through one tunnel", "direction", "MB/s", "CPU, server + agent, s/GB"],
      report.bytes.map(({ bytes, direction, megabytesPerSecond, cpuSecondsPerGB }) => [
        number(bytes / 2 ** 20, 0),
        direction,
        number(megabytesPerSecond, 1),
        // The kernel counts hundredths of a second.
        bytes < 1e7 ? "" : number(cpuSecondsPerGB, 2),
      ]),
    ),
    table(
      ["All agents cut at once", "agents", "dials", "refused", "last one refused after, s", "all back after, s"],
      report.recoveries.map((each) => [
        each.how === "links cut" ? "all links reset" : "server killed and started again",
        number(each.agents, 0),
        number(each.dials, 0),
        number(each.refused, 0),
        number(each.refusedForSeconds, 1),
        number(each.allBackSeconds, 1),
      ]),
    ),
  ];
  return `${parts.join("\n\n")}\n`;
}
