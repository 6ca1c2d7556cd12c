import type { ContenderName } from "../contenders/contender.js";
import { bulk } from "./bulk.js";
import { pingPong } from "./requests.js";
import { type Rivals, type Row, ratio } from "./row.js";

/** Being looked at may cost a twentieth. */
const rivals: Rivals = { ours: "watched", theirs: "unwatched" };
const common = {
  frontend: "connect-uds",
  contenders: ["watched", "unwatched"] satisfies ContenderName[],
  bars: [ratio("rate", "at least", 0.95)],
} as const;

export const watchedRows: readonly Row[] = [
  bulk({ ...common, name: "watched-bulk-down-8", direction: "down", tunnels: 8 }),
  pingPong({ ...common, name: "watched-ping-pong-64", tunnels: 64 }),
].map((row) => ({ ...row, rivals }));
