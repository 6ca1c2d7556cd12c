import { type Machine, machineText } from "../results/machine.js";

export interface Phase {
  readonly what: string;
  readonly seconds: number;
  readonly requests?: number;
  /** Of the command that it was. */
  readonly peakMiB?: number;
}

export interface Part {
  readonly name: string;
  readonly peakMiB: number;
  readonly finalMiB: number;
  readonly cpuSeconds: number;
}

export interface ManyNodes {
  readonly count: number;
  readonly phases: readonly Phase[];
  readonly parts: readonly Part[];
  /** What the approver remembers, in the status of the Workers. */
  readonly memoryKiB: number;
  readonly objects: Readonly<Record<string, number>>;
  readonly errors: readonly string[];
}

/** A table with a column for each number of workers. */
export function manyNodesText(machine: Machine, runs: readonly ManyNodes[]): string {
  const row = (title: string, cell: (run: ManyNodes) => string) =>
    `| ${[title, ...runs.map((run) => cell(run))].join(" | ")} |\n`;
  const phases = runs[0]?.phases ?? [];
  return [
    `${machineText(machine)}\n\n`,
    row("workers", ({ count }) => String(count)),
    `|---|${"---|".repeat(runs.length)}\n`,
    ...phases.map(({ what }, index) => row(what, ({ phases }) => phaseText(phases[index]))),
    ...(runs[0]?.parts ?? []).map(({ name }, index) => row(name, ({ parts }) => partText(parts[index]!))),
    row("the approver's memory", ({ memoryKiB }) => `${Math.round(memoryKiB)} KiB`),
    row("objects", ({ objects }) =>
      Object.entries(objects)
        .map(([what, count]) => `${count} ${what}`)
        .join(", "),
    ),
    ...runs.flatMap(({ count, errors }) => errors.map((error) => `WRONG with ${count}: ${error}\n`)),
  ].join("");
}

function phaseText(phase: Phase | undefined): string {
  if (phase === undefined) return "";
  const { peakMiB, requests, seconds } = phase;
  return [
    `${seconds.toFixed(1)} s`,
    ...(requests === undefined ? [] : [`${Math.round(requests / seconds)} requests/s`]),
    ...(peakMiB === undefined ? [] : [`${Math.round(peakMiB)} MiB`]),
  ].join(", ");
}

function partText({ cpuSeconds, finalMiB, peakMiB }: Part): string {
  return `${Math.round(peakMiB)} MiB at its peak, ${Math.round(finalMiB)} at the end, ${cpuSeconds.toFixed(1)} s of CPU`;
}
