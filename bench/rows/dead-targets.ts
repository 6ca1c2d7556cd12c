import { setTimeout as sleep } from "node:timers/promises";
import { askFrontend, type ConnectFrontend, connectRequest } from "../../test/support/callers/connect.js";
import { type AgentProcess, startAgent } from "../../test/support/processes/agent.js";
import { metric as sampleOf } from "../../test/support/processes/http.js";
import { Scope } from "../../test/support/processes/scope.js";
import { connectFrontend } from "../../test/support/processes/server.js";
import { startBlackHole } from "../../test/support/targets/black-hole.js";
import { startSlowRelay } from "../../test/support/targets/slow-relay.js";
import { AGENT_DEFAULTS, origins, roleFlags, startServerOf } from "../contenders/pair.js";
import { percentile } from "../results/statistics.js";
import { type Fault, limit, metric, type Row } from "./row.js";

const ONE_WAY_MS = 170;
const FAST_AGENTS = 3;
const EVERY_MS = { live: 5, noRoute: 50, noAnswer: 100 };

/** A broadcast address: the agent's own system refuses to connect, and no packet leaves the machine. */
const NO_ROUTE = "127.255.255.255:9";

/** Agents give up after 5 s; from then on those dials fail, too. */
const FIRST_TIMEOUTS_MS = 5_500;
const WARM_UP_MS = 1_000;

/** What other callers' dead targets cost those who dial live ones. */
export const deadTargets: Row = {
  name: "dead-targets",
  about: `Four agents, one of them behind a link of ${2 * ONE_WAY_MS} ms. A live target is dialled every ${EVERY_MS.live} ms: alone, then while others dial one to which there is no route (every ${EVERY_MS.noRoute} ms) and one that never answers (every ${EVERY_MS.noAnswer} ms). From CONNECT to its answer, live dials only.`,
  frontend: "connect-uds",
  contenders: ["ours/ours", "Go/Go"],
  // A quarter is the slow agent's share where agents are drawn blindly.
  bars: [limit("slowdown", 2), limit("slowShare", 25)],
  metrics: [
    metric("quietP50", "p50 alone", "ms", 1),
    metric("p50", "p50 beside dead targets", "ms", 1),
    metric("slowdown", "p50 against its own quiet p50", "x", 2),
    metric("quietP99", "p99 alone", "ms", 1),
    metric("p99", "p99 beside dead targets", "ms", 1),
    metric("quietSlowShare", "by the slow agent, alone", "%", 1),
    metric("slowShare", "by the slow agent, beside dead targets", "%", 1),
  ],
  async measure({ fixture, name, frontend, seconds }) {
    const scope = new Scope();
    try {
      const { pki, target } = fixture.ground;
      const origin = origins(name);
      const server = await startServerOf(scope, origin.server, frontend, fixture.ground);
      const relay = scope.use(await startSlowRelay(server.place.agentPort, ONE_WAY_MS));
      const ports = [relay.port, ...Array.from({ length: FAST_AGENTS }, () => server.place.agentPort)];
      const flags = [...AGENT_DEFAULTS, ...roleFlags(origin.agent)];
      const agents: AgentProcess[] = [];
      for (const serverPort of ports) {
        const agent = await startAgent({ origin: origin.agent, serverPort, pki, flags });
        scope.use(agent.process);
        agents.push(agent);
      }
      await Promise.all(agents.map((agent) => agent.untilReady()));
      const hole = scope.use(await startBlackHole());
      const dial = (address: string, everyMs: number) =>
        scope.use(new SteadyCaller(connectFrontend(server.place, pki), address, everyMs));

      const measureLive = async (ms: number) => {
        const before = await Promise.all(agents.map(dialsMade));
        const live = dial(target.address, EVERY_MS.live);
        await sleep(ms);
        await live.settled();
        const made = (await Promise.all(agents.map(dialsMade))).map((count, i) => count - before[i]!);
        return { live, slowShare: (100 * made[0]!) / made.reduce((sum, count) => sum + count) };
      };
      await measureLive(WARM_UP_MS);
      const alone = await measureLive(seconds * 1000);
      const dead = [dial(NO_ROUTE, EVERY_MS.noRoute), dial(hole.address, EVERY_MS.noAnswer)];
      await sleep(FIRST_TIMEOUTS_MS);
      const beside = await measureLive(seconds * 1000);

      const faults: Fault[] = [];
      const failed = alone.live.failed + beside.live.failed;
      if (failed > 0) faults.push({ kind: "failed", text: `${failed} dials of the live target failed` });
      if (dead.some(({ tookMs }) => tookMs.length > 0)) faults.push({ kind: "failed", text: "a dead target answered" });
      const [quietP50, p50] = [alone, beside].map(({ live }) => percentile(live.tookMs, 50)) as [number, number];
      return {
        values: {
          ...{ quietP50, p50, slowdown: p50 / quietP50 },
          quietP99: percentile(alone.live.tookMs, 99),
          p99: percentile(beside.live.tookMs, 99),
          quietSlowShare: alone.slowShare,
          slowShare: beside.slowShare,
        },
        faults,
      };
    } finally {
      await scope.close();
    }
  },
};

/** Connections that an agent has made. */
const dialsMade = ({ healthPort }: AgentProcess): Promise<number> =>
  sampleOf(healthPort, "konnectivity_network_proxy_agent_dial_duration_seconds_count");

/** Dials the same address at a steady pace, whether or not earlier dials are over, and hangs up at once. */
class SteadyCaller {
  readonly tookMs: number[] = [];
  failed = 0;
  readonly #pending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;

  constructor(frontend: ConnectFrontend, address: string, everyMs: number) {
    this.#timer = setInterval(() => {
      const dial = this.#dial(frontend, address).finally(() => this.#pending.delete(dial));
      this.#pending.add(dial);
    }, everyMs);
  }

  async #dial(frontend: ConnectFrontend, address: string): Promise<void> {
    const began = performance.now();
    try {
      const { socket, status } = await askFrontend(frontend, connectRequest(address));
      const took = performance.now() - began;
      socket.destroy();
      if (status === 200) this.tookMs.push(took);
      else this.failed++;
    } catch {
      this.failed++;
    }
  }

  /** Dials no more; all that were begun are over. */
  async settled(): Promise<void> {
    this.close();
    await Promise.all(this.#pending);
  }

  close(): void {
    clearInterval(this.#timer);
  }
}
