import type { ContenderName } from "../contenders/contender.js";
import { bulk } from "./bulk.js";
import { pingPong } from "./requests.js";
import { type Rivals, type Row, ratio } from "./row.js";

/** A sidecar may cost a caller what any other hop would. */
const rivals: Rivals = { ours: "sidecar", theirs: "HAProxy" };
const common = {
  frontend: "connect-uds",
  contenders: ["sidecar", "HAProxy"] satisfies ContenderName[],
} as const;

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
].map((row) => ({ ...row, rivals }));
