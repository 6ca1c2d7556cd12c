import { drive, holdTunnels } from "../load/drive.js";
import { residentMB } from "../load/procfs.js";
import { faultsOf } from "./metered.js";
import { limit, metric, type Row, ratio } from "./row.js";

const TUNNELS = 2_000;
const HELD = TUNNELS.toLocaleString("en-US");

/** What a process keeps of a burst, before anything has been given back. */
export const memoryAfter: Row = {
  name: "memory-after-traffic",
  about: `Resident memory of processes that have carried new tunnels and bulk both ways (8 tunnels): in the moment when the last tunnel has ended, and in the moment when ${HELD} tunnels have been opened after that.`,
  frontend: "connect-uds",
  contenders: ["ours/ours", "Go/Go"],
  bars: [
    limit("afterServer", 70, 60),
    limit("afterAgent", 70, 60),
    ratio("openedServer", "at most", 0.9, 0.7),
    ratio("openedAgent", "at most", 0.9, 0.7),
  ],
  metrics: [
    metric("afterServer", "server, no tunnel", "MB"),
    metric("afterAgent", "agent, no tunnel", "MB"),
    metric("openedServer", `server, ${HELD} tunnels`, "MB"),
    metric("openedAgent", `agent, ${HELD} tunnels`, "MB"),
  ],
  async measure(run) {
    const { route, server, agent, close } = await run.fixture.fresh(run);
    try {
      const { seconds } = run;
      const results = [
        await drive(route, "new-tunnels", { tunnels: 32, seconds }),
        await drive(route, "bulk-down", { tunnels: 8, seconds }),
        await drive(route, "bulk-up", { tunnels: 8, seconds }),
      ];
      const after = { afterServer: residentMB(server!), afterAgent: residentMB(agent!) };
      const held = await holdTunnels(route, TUNNELS);
      const values = { ...after, openedServer: residentMB(server!), openedAgent: residentMB(agent!) };
      return { values, faults: [...results, await held.release()].flatMap(faultsOf) };
    } finally {
      await close();
    }
  },
};
