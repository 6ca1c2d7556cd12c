import { number, table } from "../../bench/results/format.js";
import { factLines, trafficLines, verdictText } from "./facts.js";
import type { Report } from "./report.js";

/** The summary for people; also what docs/soak.md shows. */
export function markdown(report: Report): string {
  const { tunnels } = report;
  const verdict = verdictText(report, "every byte right, nothing stuck, nothing leaked, nothing ended unasked.");
  const facts = table(
    ["What", "Figure"],
    [
      ...factLines(report),
      ["callers", report.clients.join("; ")],
      ["tunnels opened", number(tunnels.opened)],
      ["did what they were meant to", number(tunnels.completed)],
      ["interrupted by a fault in their path", number(tunnels.interrupted)],
      ["dials failed by a fault in their path", number(tunnels.dialsFailed)],
      ...trafficLines(report),
    ],
  );
  const counts = (head: string, record: Readonly<Record<string, number>>) =>
    table(
      [head, "Times"],
      Object.entries(record).map(([name, count]) => [name, number(count)]),
    );
  return `${[
    verdict,
    facts,
    processes(report),
    counts("Fault", report.faults),
    counts("Tunnels by use", report.load),
    counts("Warning in a log", report.warnings),
  ].join("\n\n")}\n`;
}

function processes({ processes, censusAtSeconds }: Report): string {
  const [first = 0, ...rest] = censusAtSeconds.map((seconds) => Math.round(seconds / 60));
  const note = `Resident MiB at each census, ${[first, ...rest].join(", ")} minutes after the start; files besides those of tunnels, first and last:`;
  return `${note}\n\n${processTable(processes)}`;
}

export function processTable(processes: Report["processes"]): string {
  const rows = processes.map(({ name, veteran, starts, residentMiB, residentBoundMiB, openFiles }) => [
    `${name}${veteran ? " (never ended)" : ""}`,
    String(starts),
    residentMiB.join(" "),
    String(residentBoundMiB),
    `${openFiles.first}, ${openFiles.last}`,
  ]);
  return table(["Process", "Starts", "Resident MiB", "Bound at the end", "Files"], rows);
}
