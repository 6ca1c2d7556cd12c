/** Costs as the work grows, with our server and agents only: what a piece costs in each process, and where it ends. */
import { setTimeout as sleep } from "node:timers/promises";
import { Scope } from "../../test/support/processes/scope.js";
import { startManyAgents } from "../agents/start.js";
import { type Ground, layGround } from "../contenders/ground.js";
import { startPair, startServerOf } from "../contenders/pair.js";
import { drive, holdTunnels } from "../load/drive.js";
import { cpuSeconds, cpuSecondsOf } from "../load/procfs.js";
import type { Machine } from "../results/machine.js";
import { AGENTS_PER_PROCESS, type Recovery, recoverFromCut } from "./storm.js";
import { type Cost, costOf, type Weight, weigh } from "./weight.js";

export interface TunnelsRow {
  readonly tunnels: number;
  readonly openedSeconds: number;
  readonly server: Weight & { readonly each: Cost };
  readonly agent: Weight & { readonly each: Cost };
}

export interface AgentsRow {
  readonly agents: number;
  readonly connectedSeconds: number;
  readonly server: Weight & { readonly each: Cost };
  /** All agents together, at most a hundred in one process. */
  readonly agentsOwnMiB: number;
  /** Share of a core, with nothing to do. */
  readonly idleCpuPercent: { readonly server: number; readonly agents: number };
}

export interface BytesRow {
  readonly bytes: number;
  readonly direction: "down" | "up";
  readonly megabytesPerSecond: number;
  readonly cpuSecondsPerGB: number;
}

export interface GrowthReport {
  readonly machine: Machine;
  readonly minutes: number;
  readonly tunnels: readonly TunnelsRow[];
  readonly agents: readonly AgentsRow[];
  readonly bytes: readonly BytesRow[];
  readonly recoveries: readonly Recovery[];
  /** What must not be. */
  readonly problems: readonly string[];
}

/** The load generator's blocks. */
const MIB = 1024 * 1024;
const IDLE_SECONDS = 5;
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
    const bytes: BytesRow[] = [];
    for (let size = MIB; size <= (most / 10) * 1.1 * MIB; size *= 32) {
      say(`${size / MIB} MiB through one tunnel, each way`);
      for (const direction of ["down", "up"] as const) bytes.push(await carry(size, direction, ground, problems));
    }
    const recoveries: Recovery[] = [];
    for (const how of ["links cut", "server killed"] as const) {
      say(`${Math.max(1, most / 10)} agents cut at once: ${how}`);
      const recovery = await recoverFromCut(how, Math.max(1, most / 10), ground);
      recoveries.push(recovery);
      if (recovery.refusedForSeconds > REFUSED_AT_MOST_SECONDS)
        problems.push(`${how}: dials were refused for ${recovery.refusedForSeconds.toFixed(1)} s`);
    }
    const minutes = (performance.now() - began) / 60_000;
    return { machine, minutes, tunnels, agents, bytes, recoveries, problems };
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
    const server = await startServerOf(scope, "ours", KIND.frontend, ground);
    const { pid } = server.process;
    // What the first agent loads and compiles is no agent's cost.
    const first = new Scope();
    await startManyAgents(first, { count: 1, perProcess: 1 }, server.place.agentPort, ground.pki);
    await first.close();
    await server.untilAlone();
    const [before] = await weigh([pid]);
    const many = { count, perProcess: AGENTS_PER_PROCESS };
    const { pids, connectedSeconds } = await startManyAgents(scope, many, server.place.agentPort, ground.pki);
    const [serverThen, ...agentsThen] = await weigh([pid, ...pids]);
    const idle = { server: cpuSeconds(pid), agents: cpuSecondsOf(pids) };
    await sleep(IDLE_SECONDS * 1_000);
    const percent = (now: number, was: number) => ((now - was) / IDLE_SECONDS) * 100;
    return {
      agents: count,
      connectedSeconds,
      server: { ...serverThen!, each: costOf(before!, serverThen!, count) },
      agentsOwnMiB: agentsThen.reduce((sum, { ownMiB }) => sum + ownMiB, 0),
      idleCpuPercent: {
        server: percent(cpuSeconds(pid), idle.server),
        agents: percent(cpuSecondsOf(pids), idle.agents),
      },
    };
  } finally {
    await scope.close();
  }
}

async function carry(bytes: number, direction: "down" | "up", ground: Ground, problems: string[]): Promise<BytesRow> {
  const pair = await startPair(KIND, ground);
  try {
    await drive(pair.route, `bulk-${direction}`, { warmupSeconds: 0, seconds: 0.5 });
    const before = cpuSecondsOf(pair.pids);
    const { intact, problem, seconds } = await drive(pair.route, `bulk-${direction}`, { bytes, warmupSeconds: 0 });
    if (!intact || problem !== undefined) problems.push(`${bytes} bytes ${direction}: ${problem ?? "wrong bytes"}`);
    const cpu = cpuSecondsOf(pair.pids) - before;
    return { bytes, direction, megabytesPerSecond: bytes / 1e6 / seconds, cpuSecondsPerGB: cpu / (bytes / 1e9) };
  } finally {
    await pair.close();
  }
}
