import { figuresOf } from "../fixture/look.js";
import type { Progress } from "../run.js";

export function progressLine({ stage, court, tally, worstGapMs, pids }: Progress): string {
  const memory = pids.map((pid) => {
    const figures = figuresOf(pid);
    return figures ? String(Math.round(figures.residentMiB)) : "-";
  });
  return [
    `${clock(court.seconds)} ${stage}`,
    `${tally.faultCount} faults`,
    `${tally.errandCount} tunnels`,
    `${((tally.bytesUp + tally.bytesDown) / 1e9).toFixed(2)} GB`,
    `${tally.interrupted + tally.failedDials} interrupted`,
    `worst gap ${(worstGapMs / 1000).toFixed(1)} s`,
    `RSS ${memory.join(" ")} MiB`,
  ].join(", ");
}

function clock(seconds: number): string {
  return `${Math.floor(seconds / 60)}:${String(Math.floor(seconds % 60)).padStart(2, "0")}`;
}
