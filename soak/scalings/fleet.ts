import { Balancer } from "../../test/support/lab/balancer.js";
import { metric } from "../../test/support/lab/metrics.js";
import { AGENT_METRIC } from "../../test/support/lab/proxy-agent.js";
import { type AgentProcess, startAgent } from "../../test/support/processes/agent.js";
import type { TestPki } from "../../test/support/processes/certs.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { get } from "../../test/support/processes/http.js";
import type { Scope } from "../../test/support/processes/scope.js";
import { choosePlace, type ServerProcess, startServer } from "../../test/support/processes/server.js";
import { sleep } from "../load/end.js";

export interface FleetOptions {
  readonly index: number;
  readonly pki: TestPki;
  readonly serverKubeconfig: string;
  readonly agentKubeconfig: string;
}

const AGENTS = 2;
/** Requests are short; longer than any of them takes. */
const DRAIN_SECONDS = 10;
const STOP_WITHIN_MS = 25_000;
/** Agents hear of a new lease by their watch and then look for its server. */
const SEEN_WITHIN_MS = 30_000;

/** Servers behind a balancer, agents behind another one, all counted by leases that a real kube-apiserver keeps. */
export class LeasedFleet {
  readonly callers: Balancer;
  readonly servers: ServerProcess[] = [];
  readonly #agents: AgentProcess[] = [];
  readonly #forAgents: Balancer;
  readonly #scope: Scope;
  readonly #options: FleetOptions;
  #started = 0;

  private constructor(scope: Scope, options: FleetOptions, callers: Balancer, forAgents: Balancer) {
    this.#scope = scope;
    this.#options = options;
    this.callers = callers;
    this.#forAgents = forAgents;
  }

  static async open(scope: Scope, options: FleetOptions, servers: number): Promise<LeasedFleet> {
    const fleet = new LeasedFleet(scope, options, await Balancer.start(scope), await Balancer.start(scope));
    for (let each = 0; each < servers; each++) await fleet.#start();
    const { pki, agentKubeconfig, index } = options;
    const flags = ["--count-server-leases", `--kubeconfig=${agentKubeconfig}`, fleet.#label];
    for (let each = 0; each < AGENTS; each++) {
      const id = `fleet-${index}-agent-${each}`;
      const agent = await startAgent({ origin: "ours", serverPort: fleet.#forAgents.port, pki, id, flags });
      scope.use(agent.process);
      fleet.#agents.push(agent);
    }
    await fleet.untilSeen();
    return fleet;
  }

  get #label(): string {
    return `--lease-label=soak-fleet=fleet-${this.#options.index}`;
  }

  /** Callers come to the new server at once, before it has an agent. */
  async grow(): Promise<void> {
    await this.#start();
    await this.untilSeen();
  }

  /** Asked to end while callers still come to it; the balancer notices so much later. */
  async shrink(which: number, noticedAfterMs: number): Promise<void> {
    const [server] = this.servers.splice(which, 1);
    const { process, place } = server!;
    const leave = async () => {
      await sleep(noticedAfterMs);
      this.callers.remove(place.frontendPort);
      this.#forAgents.remove(place.agentPort);
    };
    const [{ code, signal }] = await Promise.all([process.stop("SIGTERM", STOP_WITHIN_MS), leave()]);
    if (code !== 0)
      throw new Error(`${process.name} ended with ${signal ?? code} after SIGTERM\n${process.log.tail()}`);
    await this.untilSeen();
  }

  /** Every agent counts as many servers as there are, and is connected to each. */
  async untilSeen(): Promise<void> {
    const wanted = this.servers.length;
    for (const { id, healthPort } of this.#agents) {
      let page = "";
      const sees = async () => {
        page = (await get(healthPort, "/metrics")).body;
        return ["known_server_count", "open_server_connections"].every(
          (name) => metric(page, `${AGENT_METRIC}_${name}`) === wanted,
        );
      };
      await waitUntil(`${id} to count ${wanted} servers and to be connected to each`, sees, {
        withinMs: SEEN_WITHIN_MS,
        context: () =>
          `\n${page
            .split("\n")
            .filter((line) => /^konn.*(known|open)_server/.test(line))
            .join("\n")}`,
      });
    }
  }

  /** For evidence. */
  logs(): string {
    const processes = [...this.servers, ...this.#agents].map(({ process }) => process);
    return processes.map(({ name, log }) => `==== ${name}\n${log.text}`).join("\n");
  }

  async #start(): Promise<void> {
    const { index, pki, serverKubeconfig } = this.#options;
    const place = await choosePlace("connect-tcp", this.#scope.tempDir());
    const name = `fleet-${index}-server-${++this.#started}`;
    const flags = [
      "--enable-lease-controller",
      `--kubeconfig=${serverKubeconfig}`,
      this.#label,
      "--wait-for-agent=5s",
      `--graceful-shutdown-timeout=${DRAIN_SECONDS}s`,
    ];
    const server = await startServer({ origin: "ours", place, pki, flags, name });
    this.#scope.use(server.process);
    this.servers.push(server);
    this.callers.add(place.frontendPort);
    this.#forAgents.add(place.agentPort);
  }
}
