import { setTimeout as sleep } from "node:timers/promises";
import type { ContenderName } from "../contenders/contender.js";
import { ownMiB, residentMiB } from "../load/procfs.js";
import { bulk } from "./bulk.js";
import { pingPong } from "./requests.js";
import { limit, metric, type Rivals, type Row, ratio } from "./row.js";

const FRESH_MS = 1_000;

/** A sidecar may cost a caller what any other hop would. */
const rivals: Rivals = { ours: "sidecar", theirs: "HAProxy" };
const common = {
  frontend: "connect-uds",
  contenders: ["sidecar", "HAProxy"] satisfies ContenderName[],
} as const;

const idleHop: Row = {
  ...common,
  name: "sidecar-memory",
  about:
    "Memory of the hop alone, fresh and without a tunnel; its own is anonymous memory, which no other process shares.",
  together: true,
  bars: [limit("own", 10, 8)],
  metrics: [metric("own", "own", "MiB", 1), metric("resident", "resident", "MiB", 1)],
  async measure(run) {
    const { hop, close } = await run.fixture.fresh(run);
    try {
      await sleep(FRESH_MS);
      return { values: { own: ownMiB(hop!), resident: residentMiB(hop!) }, faults: [] };
    } finally {
      await close();
    }
  },
};

export const sidecarRows: readonly Row[] = [
  bulk({
    ...common,
    name: "sidecar-bulk-down-8",
    direction: "down",
    tunnels: 8,
    bars: [ratio("rate", "at least", 1)],
  }),
  pingPong({
    ...common,
    name: "sidecar-ping-pong-1",
    tunnels: 1,
    bars: [ratio("p50", "at most", 1), ratio("p99", "at most", 1)],
  }),
  pingPong({
    ...common,
    name: "sidecar-ping-pong-64",
    tunnels: 64,
    bars: [ratio("rate", "at least", 1), ratio("p99", "at most", 1)],
  }),
  idleHop,
].map((row) => ({ ...row, rivals }));
