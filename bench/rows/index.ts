import { type ContenderName, PAIRS } from "../contenders/contender.js";
import { besideBulk } from "./beside-bulk.js";
import { bulk } from "./bulk.js";
import { deadTargets } from "./dead-targets.js";
import { growthAgents } from "./growth-agents.js";
import { growthTunnels } from "./growth-tunnels.js";
import { manyAgents } from "./many-agents.js";
import { memory } from "./memory.js";
import { memoryAfter } from "./memory-after.js";
import { newTunnels, pingPong } from "./requests.js";
import { type Bar, limit, type Row, ratio } from "./row.js";
import { sidecarRows } from "./sidecar.js";
import { stalled } from "./stalled.js";
import { start } from "./start.js";
import { watchedRows } from "./watched.js";

const same: readonly ContenderName[] = ["ours/ours", "Go/Go"];
const limits: readonly ContenderName[] = ["direct", "relay"];
const directions = ["down", "up"] as const;

const rateBars = { down: ratio("rate", "at least", 2.3, 2.8), up: ratio("rate", "at least", 1.7, 2.2) };

/** No more than upstream's would be better still. */
const peakBar = (metric: string): Bar => ({ ...limit(metric, 80), goal: { against: "rival", value: 1 } });

const bulkBars = (direction: "down" | "up", tunnels: number): Bar[] => [
  rateBars[direction],
  ratio("cpuPerGB", "at most", 0.5, 0.35),
  ...(tunnels === 8 ? [peakBar("serverPeakMeanwhile"), peakBar("agentPeakMeanwhile")] : []),
];

/** CONNECT over a Unix socket, ours/ours: where the bars bind. */
const connectRows: readonly Row[] = [
  ...[1, 8].flatMap((tunnels) =>
    directions.map((direction) =>
      bulk({
        name: `bulk-${direction}-${tunnels}`,
        direction,
        tunnels,
        frontend: "connect-uds",
        contenders: [...(tunnels === 8 ? PAIRS : same), ...limits],
        bars: bulkBars(direction, tunnels),
      }),
    ),
  ),
  pingPong({
    name: "ping-pong-1",
    tunnels: 1,
    frontend: "connect-uds",
    contenders: [...same, ...limits],
    bars: [ratio("p50", "at most", 0.9), ratio("p99", "at most", 1)],
  }),
  pingPong({
    name: "ping-pong-64",
    tunnels: 64,
    frontend: "connect-uds",
    contenders: [...PAIRS, ...limits],
    bars: [ratio("rate", "at least", 1.4), ratio("p99", "at most", 0.7)],
  }),
  newTunnels({
    name: "new-tunnels",
    tunnels: 32,
    frontend: "connect-uds",
    contenders: [...PAIRS, ...limits],
    bars: [ratio("rate", "at least", 1.05, 1.3), ratio("p99", "at most", 1.1, 0.9)],
  }),
  memory,
  memoryAfter,
  stalled({ name: "stalled-reader", party: "reader", frontend: "connect-uds", contenders: PAIRS }),
  stalled({ name: "stalled-endpoint", party: "endpoint", frontend: "connect-uds", contenders: same }),
  besideBulk,
  deadTargets,
  start,
];

/** gRPC over a Unix socket, driven by upstream's client library: shown, without bars for speed. */
const grpcRows: readonly Row[] = [
  ...directions.map((direction) =>
    bulk({
      name: `grpc-bulk-${direction}-8`,
      direction,
      tunnels: 8,
      frontend: "grpc-uds",
      contenders: same,
      bars: [],
    }),
  ),
  pingPong({ name: "grpc-ping-pong-64", tunnels: 64, frontend: "grpc-uds", contenders: same, bars: [] }),
  newTunnels({ name: "grpc-new-tunnels", tunnels: 32, frontend: "grpc-uds", contenders: same, bars: [] }),
  stalled({ name: "grpc-stalled-reader", party: "reader", frontend: "grpc-uds", contenders: same }),
];

export const allRows: readonly Row[] = [
  ...connectRows,
  ...grpcRows,
  ...sidecarRows,
  ...watchedRows,
  manyAgents(1_000),
  ...[1, 100, 1_000, 5_000].map(growthTunnels),
  ...[1, 10, 50, 200].map(growthAgents),
];

/** Rows by name, or by the beginning of names where no row is called just that; what matches nothing is refused. */
export function chooseRows(names: readonly string[]): readonly Row[] {
  const chosen = names.flatMap((name) => {
    const exact = allRows.filter((row) => row.name === name);
    const matching = exact.length > 0 ? exact : allRows.filter((row) => row.name.startsWith(name));
    if (matching.length === 0) throw new Error(`There is no row called ${name}; --list names them all.`);
    return matching;
  });
  return names.length === 0 ? allRows : allRows.filter((row) => chosen.includes(row));
}
