import { holdTunnels } from "../load/drive.js";
import { residentMiB } from "../load/procfs.js";
import { faultsOf, metered } from "./metered.js";
import { requestMetrics, requestValues } from "./requests.js";
import { metric, type Row } from "./row.js";

const ACTIVE = 16;

/** How cost grows with the number of tunnels that are just there. */
export function growthTunnels(idle: number): Row {
  return {
    name: `scale-tunnels-${idle}`,
    about: `${ACTIVE} tunnels play 1 KB ping-pong beside so many idle ones, in fresh processes.`,
    frontend: "connect-uds",
    contenders: ["ours/ours", "Go/Go"],
    bars: [],
    growth: { of: "idle tunnels", count: idle },
    once: true,
    metrics: [
      metric("opened", "opening the idle ones", "s", 2),
      metric("server", "server's memory", "MiB"),
      metric("agent", "agent's memory", "MiB"),
      ...requestMetrics("req/s"),
    ],
    async measure(run) {
      const contender = await run.fixture.fresh(run);
      try {
        const held = await holdTunnels(contender.route, idle);
        const cost = await metered(run, contender, "ping-pong", { tunnels: ACTIVE, seconds: run.seconds });
        const server = residentMiB(contender.server!);
        const agent = residentMiB(contender.agent!);
        const released = await held.release();
        return {
          values: { opened: held.seconds, server, agent, ...requestValues(cost) },
          faults: [...faultsOf(cost.result), ...faultsOf(released)],
        };
      } finally {
        await contender.close();
      }
    },
  };
}
