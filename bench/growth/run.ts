/** Costs as the work grows, with our server and agents only: what a piece costs in each process, and where it ends. */
import { Scope } from "../../test/support/processes/scope.js";
import { type ConnectedAgents, connectAgents } from "../agents/connect.js";
import { type Ground, layGround } from "../contenders/ground.js";
import { startPair } from "../contenders/pair.js";
import { drive, holdTunnels } from "../load/drive.js";
import type { Machine } from "../results/machine.js";
import { type BytesRow, carryBytes } from "./bytes.js";
import { type Costs, measureCosts } from "./costs.js";
import { type Recovery, recoverFromCut } from "./storm.js";
import { type Cost, costOf, type Weight, weigh } from "./weight.js";

export interface TunnelsRow {
  readonly tunnels: number;
  readonly openedSeconds: number;
  readonly server: Weight & { readonly each: Cost };
  readonly agent: Weight & { readonly each: Cost };
}

export interface AgentsRow extends Pick<ConnectedAgents, "connectedSeconds" | "agentsOwnMiB" | "idleCpuPercent"> {
  readonly agents: number;
  readonly server: Weight & { readonly each: Cost };
}

export interface GrowthReport {
  readonly machine: Machine;
  /** The day on which it began. */
  readonly date: string;
  readonly minutes: number;
  readonly tunnels: readonly TunnelsRow[];
  readonly agents: readonly AgentsRow[];
  readonly bytes: readonly BytesRow[];
  readonly costs: Costs;
  readonly recoveries: readonly Recovery[];
  /** What must not be. */
  readonly problems: readonly string[];
}

const REFUSED_AT_MOST_SECONDS = 10;
const KIND = { name: "ours/ours", frontend: "connect-uds" } as const;

/** 1, 10, 100, ... and `most` itself. */
function decades(most: number): number[] {
  const numbers: number[] = [];
  for (let number = 1; number < most; number *= 10) numbers.push(number);
  return [...numbers, most];
}

export async function measureGrowth(
  most: number,
  machine: Machine,
  say: (line: string) => void,
): Promise<GrowthReport> {
  const date = new Date().toISOString().slice(0, 10);
  const began = performance.now();
  const ground = await layGround();
  const problems: string[] = [];
  try {
    const tunnels: TunnelsRow[] = [];
    for (const count of decades(most)) {
      say(`${count} tunnels held at once`);
      tunnels.push(await holdMany(count, ground, problems));
    }
    const agents: AgentsRow[] = [];
    for (const count of decades(Math.max(1, most / 10))) {
      say(`${count} agents connected at once`);
      agents.push(await connectMany(count, ground));
    }
    const bytes = await carryBytes(most / 10, ground, problems, say);
    say("CPU for one piece of each kind of work");
    const costs = await measureCosts(ground, problems);
    const recoveries: Recovery[] = [];
    for (const how of ["links cut", "server killed"] as const) {
      say(`${Math.max(1, most / 10)} agents cut at once: ${how}`);
      const recovery = await recoverFromCut(how, Math.max(1, most / 10), ground);
      recoveries.push(recovery);
      if (recovery.refusedForSeconds > REFUSED_AT_MOST_SECONDS)
        problems.push(`${how}: dials were refused for ${recovery.refusedForSeconds.toFixed(1)} s`);
    }
    const minutes = (performance.now() - began) / 60_000;
    return { machine, date, minutes, tunnels, agents, bytes, costs, recoveries, problems };
  } finally {
    await ground.close();
  }
}

async function holdMany(count: number, ground: Ground, problems: string[]): Promise<TunnelsRow> {
  const pair = await startPair(KIND, ground);
  try {
    // What the first tunnels load and compile is no tunnel's cost.
    await drive(pair.route, "new-tunnels", { tunnels: 8, warmupSeconds: 0, seconds: 1 });
    const [server, agent] = await weigh(pair.pids);
    const held = await holdTunnels(pair.route, count);
    const [serverThen, agentThen] = await weigh(pair.pids);
    const { intact, problem } = await held.release();
    if (!intact || problem !== undefined) problems.push(`${count} tunnels: ${problem ?? "wrong bytes"}`);
    return {
      tunnels: count,
      openedSeconds: held.seconds,
      server: { ...serverThen!, each: costOf(server!, serverThen!, count) },
      agent: { ...agentThen!, each: costOf(agent!, agentThen!, count) },
    };
  } finally {
    await pair.close();
  }
}

async function connectMany(count: number, ground: Ground): Promise<AgentsRow> {
  const scope = new Scope();
  try {
    const kind = { origin: "ours", frontend: KIND.frontend, count } as const;
    const { server, each, connectedSeconds, agentsOwnMiB, idleCpuPercent } = await connectAgents(scope, kind, ground);
    return { agents: count, connectedSeconds, server: { ...server, each }, agentsOwnMiB, idleCpuPercent };
  } finally {
    await scope.close();
  }
}
