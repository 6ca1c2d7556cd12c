import { setTimeout as sleep } from "node:timers/promises";
import { holdTunnels } from "../load/drive.js";
import { ownMiB, residentMiB } from "../load/procfs.js";
import { faultsOf } from "./metered.js";
import { limit, metric, type Row, ratio } from "./row.js";

const TUNNELS = 2_000;
/** Both runtimes give back what only the opening needed, V8 within 15 seconds on a quiet machine; the same time for both. */
const SETTLE_MS = 30_000;
const START_MS = 1_000;

export const memory: Row = {
  name: "memory",
  about: `Resident memory of fresh processes without a tunnel and with ${TUNNELS} that have been idle for ${SETTLE_MS / 1000} seconds (each proven to work before and after). Its own is anonymous memory, which no other process shares.`,
  frontend: "connect-uds",
  together: true,
  contenders: ["ours/ours", "Go/Go"],
  bars: [
    limit("idleServer", 64),
    limit("idleAgent", 64),
    limit("ownServer", 10, 8),
    limit("ownAgent", 10, 8),
    ratio("heldServer", "at most", 0.9),
    ratio("heldAgent", "at most", 0.9),
  ],
  metrics: [
    metric("idleServer", "server, no tunnel", "MiB", 1),
    metric("idleAgent", "agent, no tunnel", "MiB", 1),
    metric("ownServer", "of that the server's own", "MiB", 1),
    metric("ownAgent", "of that the agent's own", "MiB", 1),
    metric("heldServer", "server, 2,000 idle tunnels", "MiB", 1),
    metric("heldAgent", "agent, 2,000 idle tunnels", "MiB", 1),
  ],
  async measure(run) {
    const contender = await run.fixture.fresh(run);
    const server = contender.server!;
    const agent = contender.agent!;
    try {
      await sleep(START_MS);
      const resident = { idleServer: residentMiB(server), idleAgent: residentMiB(agent) };
      const idle = { ...resident, ownServer: ownMiB(server), ownAgent: ownMiB(agent) };
      const held = await holdTunnels(contender.route, TUNNELS);
      await sleep(SETTLE_MS);
      const values = { ...idle, heldServer: residentMiB(server), heldAgent: residentMiB(agent) };
      return { values, faults: faultsOf(await held.release()) };
    } finally {
      await contender.close();
    }
  },
};
