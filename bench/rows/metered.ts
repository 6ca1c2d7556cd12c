import { availableParallelism } from "node:os";
import type { Contender } from "../contenders/contender.js";
import { type DriveOptions, type DriveResult, drive, type Scenario } from "../load/drive.js";
import { cpuSeconds, cpuSecondsOf } from "../load/procfs.js";
import { type Fault, type Metric, metric, type Run } from "./row.js";

/** A run with what it cost: the contender's CPU seconds, and the share of the machine that the load generator took. */
export interface Metered {
  readonly result: DriveResult;
  readonly cpu: number;
  readonly loadPercent: number;
  /** Shown in the JSON only, for whoever looks for the end that limits. */
  readonly cpuOfRoles: { readonly serverCpuSeconds?: number; readonly agentCpuSeconds?: number };
}

export const LOAD_SHARE: Metric = metric("loadPercent", "load generator's share of all cores", "%");

export async function metered(
  { fixture }: Pick<Run, "fixture">,
  contender: Contender,
  scenario: Scenario,
  options: DriveOptions,
): Promise<Metered> {
  const target = [fixture.ground.target.pid];
  const { server, agent, pids } = contender;
  const before = { each: pids.map(cpuSeconds), target: cpuSecondsOf(target), at: performance.now() };
  const result = await drive(contender.route, scenario, options);
  const wall = (performance.now() - before.at) / 1000;
  const load = result.cpuSeconds + cpuSecondsOf(target) - before.target;
  const each = pids.map((pid, i) => cpuSeconds(pid) - before.each[i]!);
  const of = (pid: number) => each[pids.indexOf(pid)]!;
  return {
    result,
    cpu: each.reduce((sum, seconds) => sum + seconds, 0),
    cpuOfRoles: { ...(server && { serverCpuSeconds: of(server) }), ...(agent && { agentCpuSeconds: of(agent) }) },
    loadPercent: (100 * load) / (wall * availableParallelism()),
  };
}

/** Wrong bytes and tunnels that failed, which no figure may hide. */
export function faultsOf(result: DriveResult): Fault[] {
  if (!result.intact) return [{ kind: "wrong bytes", text: result.problem ?? "a comparison failed" }];
  if (result.problem !== undefined) return [{ kind: "failed", text: result.problem }];
  return result.frozen ? [{ kind: "frozen", text: "no answer for seconds" }] : [];
}
