import { setTimeout as sleep } from "node:timers/promises";
import type { Origin } from "../../test/support/processes/executables.js";
import { Scope } from "../../test/support/processes/scope.js";
import type { FrontendKind, ServerPlace } from "../../test/support/processes/server.js";
import type { Ground } from "../contenders/ground.js";
import { startServerOf } from "../contenders/pair.js";
import { type Cost, costOf, type Weight, weigh } from "../growth/weight.js";
import { cpuSeconds, cpuSecondsOf } from "../load/procfs.js";
import { AGENTS_PER_PROCESS, startManyAgents } from "./start.js";

export interface AgentsKind {
  /** Whose server. */
  readonly origin: Origin;
  readonly frontend: FrontendKind;
  readonly count: number;
  /** Of the server. */
  readonly flags?: readonly string[];
}

export interface ConnectedAgents {
  readonly place: ServerPlace;
  readonly connectedSeconds: number;
  readonly server: Weight;
  /** What one agent costs the server. */
  readonly each: Cost;
  readonly agentsOwnMiB: number;
  /** Share of a core, with nothing to do. */
  readonly idleCpuPercent: { readonly server: number; readonly agents: number };
}

const IDLE_SECONDS = 5;

/** A server with so many agents that have come to rest, and what they cost. */
export async function connectAgents(
  scope: Scope,
  { origin, frontend, count, flags }: AgentsKind,
  ground: Ground,
): Promise<ConnectedAgents> {
  const { process, place, untilAlone } = await startServerOf(scope, origin, frontend, ground, flags);
  const { pid } = process;
  // What the first agent loads and compiles is no agent's cost.
  const first = new Scope();
  await startManyAgents(first, { count: 1, perProcess: 1 }, place.agentPort, ground.pki);
  await first.close();
  await untilAlone();
  const [before] = await weigh([pid]);
  const many = { count, perProcess: AGENTS_PER_PROCESS };
  const { pids, connectedSeconds } = await startManyAgents(scope, many, place.agentPort, ground.pki);
  const [server, ...agents] = await weigh([pid, ...pids]);
  const idle = { server: cpuSeconds(pid), agents: cpuSecondsOf(pids) };
  await sleep(IDLE_SECONDS * 1_000);
  const percent = (now: number, was: number) => ((now - was) / IDLE_SECONDS) * 100;
  return {
    place,
    connectedSeconds,
    server: server!,
    each: costOf(before!, server!, count),
    agentsOwnMiB: agents.reduce((sum, { ownMiB }) => sum + ownMiB, 0),
    idleCpuPercent: {
      server: percent(cpuSeconds(pid), idle.server),
      agents: percent(cpuSecondsOf(pids), idle.agents),
    },
  };
}
