import type { Audience } from "../contenders/contender.js";
import { bulk } from "./bulk.js";
import { newTunnels, pingPong } from "./requests.js";
import { type Row, ratio } from "./row.js";

const between = (ours: Audience, theirs: Audience) => ({
  frontend: "connect-uds" as const,
  contenders: [ours, theirs],
  bars: [ratio("rate", "at least", 0.95)],
});

/** Being looked at may cost a twentieth. */
const watched = between("watched", "unwatched");

/** That one could be looked at may cost nothing that can be measured, and runs differ by more than a twentieth. */
const unwatched = between("unwatched", "dark");

export const watchedRows: readonly Row[] = [
  bulk({ ...watched, name: "watched-bulk-down-8", direction: "down", tunnels: 8 }),
  pingPong({ ...watched, name: "watched-ping-pong-64", tunnels: 64 }),
  pingPong({ ...unwatched, name: "unwatched-ping-pong-64", tunnels: 64 }),
  newTunnels({ ...unwatched, name: "unwatched-new-tunnels", tunnels: 32 }),
].map((row) => ({ ...row, rivals: { ours: row.contenders[0]!, theirs: row.contenders[1]! } }));
