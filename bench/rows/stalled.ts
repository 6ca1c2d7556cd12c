import type { FrontendKind } from "../../test/support/processes/server.js";
import { type Contender, type ContenderName, oursIn } from "../contenders/contender.js";
import { type DriveResult, drive } from "../load/drive.js";
import { peakMiB } from "../load/procfs.js";
import { faultsOf } from "./metered.js";
import { type Fault, limit, metric, type Row } from "./row.js";

export interface StalledKind {
  readonly name: string;
  readonly party: "reader" | "endpoint";
  readonly frontend: FrontendKind;
  readonly contenders: readonly ContenderName[];
}

const ABOUT = {
  reader: "A caller asks for endless bulk and reads none of it.",
  endpoint: "A caller sends all it can to an endpoint that reads none of it.",
};

/**
 * Bare Node is 40 to 60 MiB by version, and its young generation may hold as much again after a burst; what a stalled
 * party may add is a few windows. Twice all that would be a leak.
 */
export const MOST_MEMORY_MIB = 256;

/** Fresh processes have to be warm before their quiet p99 is worth comparing with. */
const WARM_UP_SECONDS = 1.5;

/** Always in fresh processes: the original's do not survive it. */
export function stalled({ name, party, frontend, contenders }: StalledKind): Row {
  return {
    name,
    about: `${ABOUT[party]} Another tunnel plays 1 KB ping-pong before and meanwhile; once the slow party has left, new tunnels must work.`,
    frontend,
    contenders,
    bars: frontend === "connect-uds" ? [limit("slowdown", 1.5)] : [],
    metrics: [
      metric("quiet", "p99 before", "µs"),
      metric("p99", "p99 beside the stall", "µs"),
      metric("slowdown", "p99 against its own quiet p99", "x", 2),
      metric("pause", "longest pause", "ms", 1),
      metric("again", "serves again after", "s", 2),
      metric("serverPeak", "server's peak memory", "MiB"),
      metric("agentPeak", "agent's peak memory", "MiB"),
    ],
    async measure(run) {
      const contender = await run.fixture.fresh(run);
      try {
        const result = await drive(contender.route, `stalled-${party}`, {
          warmupSeconds: WARM_UP_SECONDS,
          seconds: run.seconds,
        });
        return judge(contender, result);
      } finally {
        await contender.close();
      }
    },
  };
}

export function judge(contender: Contender, result: DriveResult) {
  const serverPeak = peakMiB(contender.server!);
  const agentPeak = peakMiB(contender.agent!);
  const quiet = result.quietMicros?.p99 ?? 0;
  const p99 = result.frozen ? Number.POSITIVE_INFINITY : (result.latencyMicros?.p99 ?? 0);
  const ours = oursIn(contender.name);
  const faults: Fault[] = faultsOf(result);
  if (!result.servesAgain) faults.push({ kind: "not serving again", text: "no new tunnel worked after the stall" });
  for (const [role, isOurs, peak] of [
    ["server", ours.server, serverPeak],
    ["agent", ours.agent, agentPeak],
  ] as const) {
    if (isOurs && peak > MOST_MEMORY_MIB) {
      faults.push({ kind: "memory", text: `the ${role} grew to ${Math.round(peak)} MiB` });
    }
  }
  return {
    values: {
      quiet,
      p99,
      slowdown: p99 / quiet,
      pause: (result.longestPauseMicros ?? 0) / 1000,
      again: result.servesAgain ? (result.againAfterSeconds ?? 0) : Number.POSITIVE_INFINITY,
      serverPeak,
      agentPeak,
    },
    faults,
  };
}
