import type { FrontendKind } from "../../test/support/processes/server.js";
import type { ContenderName } from "../contenders/contender.js";
import { forgetPeak, peakMiB } from "../load/procfs.js";
import { faultsOf, LOAD_SHARE, metered } from "./metered.js";
import { type Bar, metric, type Row } from "./row.js";

export interface BulkKind {
  readonly name: string;
  readonly direction: "down" | "up";
  readonly tunnels: number;
  readonly frontend: FrontendKind;
  readonly contenders: readonly ContenderName[];
  readonly bars: readonly Bar[];
}

const ABOUT = {
  down: "The target sends as fast as it can; the driver compares every byte with what must come.",
  up: "The driver sends as fast as it can; the target compares every byte and acknowledges every MiB, which is counted.",
};

export function bulk({ name, direction, tunnels, frontend, contenders, bars }: BulkKind): Row {
  return {
    name,
    about: ABOUT[direction],
    frontend,
    contenders,
    bars,
    metrics: [
      metric("rate", "throughput", "MB/s"),
      metric("cpuPerGB", "CPU, server + agent", "s/GB", 2),
      metric("serverPeakMeanwhile", "server's peak memory meanwhile", "MiB"),
      metric("agentPeakMeanwhile", "agent's peak memory meanwhile", "MiB"),
      metric("slowest", "slowest tunnel's share of a fair one", "x", 2),
      LOAD_SHARE,
    ],
    async measure(run) {
      const contender = await run.fixture.shared(run);
      const options = { tunnels, seconds: run.seconds };
      contender.pids.forEach(forgetPeak);
      const { result, cpu, cpuOfRoles, loadPercent } = await metered(run, contender, `bulk-${direction}`, options);
      return {
        values: {
          rate: (result.bytesPerSecond ?? 0) / 1e6,
          ...(tunnels > 1 && { slowest: result.slowestTunnelShare ?? 0 }),
          ...cpuOfRoles,
          loadPercent,
          ...(contender.pids.length > 0 && { cpuPerGB: cpu / ((result.bytesTotal ?? 0) / 1e9) }),
          ...(contender.server && { serverPeakMeanwhile: peakMiB(contender.server) }),
          ...(contender.agent && { agentPeakMeanwhile: peakMiB(contender.agent) }),
        },
        faults: faultsOf(result),
      };
    },
  };
}
