import { agentId } from "../fixture/agent-process.js";
import type { Fixture } from "../fixture/fixture.js";
import type { ServerProcess } from "../fixture/server-process.js";
import { sleep } from "../load/end.js";
import type { Job } from "../load/job.js";

const EVERY_MS = 1_000;

/** Asks the servers again and again which tunnel runs over which agent. */
export class Poller {
  readonly #fixture: Fixture;
  readonly #jobs: ReadonlyMap<string, Job>;
  #stopped = false;
  readonly #running: Promise<unknown>;

  constructor(fixture: Fixture, jobs: ReadonlyMap<string, Job>) {
    this.#fixture = fixture;
    this.#jobs = jobs;
    // Side by side: a frozen server does not answer, and the others go on meanwhile.
    this.#running = Promise.all(fixture.servers.map((server) => this.#poll(server)));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #poll(server: ServerProcess): Promise<void> {
    const indices = new Map(this.#fixture.agents.map(({ index }) => [agentId(index), index]));
    while (!this.#stopped) {
      const tunnels = server.daemon.running ? await server.tunnels().catch(() => []) : [];
      for (const { target, agent } of tunnels) {
        const job = this.#jobs.get(target);
        if (job?.server === server.index) job.agent = indices.get(agent?.id ?? "");
      }
      await sleep(EVERY_MS);
    }
  }
}
