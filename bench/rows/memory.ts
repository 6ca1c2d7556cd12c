import { setTimeout as sleep } from "node:timers/promises";
import { holdTunnels } from "../load/drive.js";
import { residentMiB } from "../load/procfs.js";
import { faultsOf } from "./metered.js";
import { limit, metric, type Row, ratio } from "./row.js";

const TUNNELS = 2_000;
/** Both runtimes give memory back with a delay; the same time for both. */
const SETTLE_MS = 3_000;

export const memory: Row = {
  name: "memory",
  about: `Resident memory of fresh processes without a tunnel and with ${TUNNELS} idle ones (each proven to work before and after).`,
  frontend: "connect-uds",
  contenders: ["ours/ours", "Go/Go"],
  bars: [
    limit("idleServer", 64),
    limit("idleAgent", 64),
    ratio("heldServer", "at most", 0.9),
    ratio("heldAgent", "at most", 0.9),
  ],
  metrics: [
    metric("idleServer", "server, no tunnel", "MiB", 1),
    metric("idleAgent", "agent, no tunnel", "MiB", 1),
    metric("heldServer", "server, 2,000 idle tunnels", "MiB", 1),
    metric("heldAgent", "agent, 2,000 idle tunnels", "MiB", 1),
  ],
  async measure(run) {
    const contender = await run.stage.fresh(run);
    const server = contender.server!;
    const agent = contender.agent!;
    try {
      await sleep(SETTLE_MS / 3);
      const idle = { idleServer: residentMiB(server), idleAgent: residentMiB(agent) };
      const held = await holdTunnels(contender.door, TUNNELS);
      await sleep(SETTLE_MS);
      const values = { ...idle, heldServer: residentMiB(server), heldAgent: residentMiB(agent) };
      return { values, faults: faultsOf(await held.release()) };
    } finally {
      await contender.close();
    }
  },
};
