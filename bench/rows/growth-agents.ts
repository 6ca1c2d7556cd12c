import { Scope } from "../../test/support/processes/scope.js";
import { startManyAgents } from "../agents/start.js";
import type { Contender } from "../contenders/contender.js";
import { origins, routeOf, startServerOf } from "../contenders/pair.js";
import { residentMiB } from "../load/procfs.js";
import { faultsOf, metered } from "./metered.js";
import { requestMetrics, requestValues } from "./requests.js";
import { metric, type Row, ratio, timesRow } from "./row.js";

const TUNNELS = 64;
const nameOf = (count: number): string => `scale-agents-${count}`;

/** How a server's cost grows with its agents; those are many in one process, through our library, for both servers. */
export function growthAgents(count: number): Row {
  return {
    name: nameOf(count),
    about: `${TUNNELS} tunnels play 1 KB ping-pong over so many agents, all in one process through our library and not as the shipped program (for both servers); the CPU is that of the server and of that process.`,
    frontend: "connect-uds",
    contenders: ["ours/ours", "Go/ours"],
    rivals: { ours: "ours/ours", theirs: "Go/ours" },
    bars: [
      ...(count > 1 ? [ratio("opening", "at least", 1, 1.2)] : []),
      ...(count === 200 ? [timesRow("cpuPerRequest", nameOf(1), 3, 2)] : []),
    ],
    growth: { of: "agents", count },
    metrics: [
      metric("connected", "all agents connected", "s", 2),
      metric("server", "server's memory", "MiB"),
      metric("opening", "new tunnels", "tunnels/s"),
      metric("openingP99", "p99 of those", "µs"),
      ...requestMetrics("req/s"),
    ],
    async measure(run) {
      const { fixture, name, frontend, seconds } = run;
      const scope = new Scope();
      try {
        const server = await startServerOf(scope, origins(name).server, frontend, fixture.ground);
        const { pki } = fixture.ground;
        const one = { count, perProcess: count };
        const { pids, connectedSeconds } = await startManyAgents(scope, one, server.place.agentPort, pki);
        await server.untilReady();
        const contender: Contender = {
          name,
          route: routeOf(server.place, fixture.ground),
          pids: [server.process.pid, ...pids],
          close: () => Promise.resolve(),
        };
        const opening = await metered(run, contender, "new-tunnels", {
          tunnels: 32,
          warmupSeconds: 1,
          seconds: seconds / 2,
        });
        const cost = await metered(run, contender, "ping-pong", { tunnels: TUNNELS, seconds });
        return {
          values: {
            connected: connectedSeconds,
            server: residentMiB(server.process.pid),
            opening: opening.result.requestsPerSecond ?? 0,
            openingP99: opening.result.latencyMicros?.p99 ?? 0,
            ...requestValues(cost),
          },
          faults: [...faultsOf(opening.result), ...faultsOf(cost.result)],
        };
      } finally {
        await scope.close();
      }
    },
  };
}
