/** All agents are cut at once and come back at once: for how long are dials refused, and when are all back? */
import { setTimeout as sleep } from "node:timers/promises";
import { Relay } from "../../soak/fixture/relay.js";
import { askFrontend, connectRequest } from "../../test/support/callers/connect.js";
import { waitUntil } from "../../test/support/processes/deadline.js";
import { metric } from "../../test/support/processes/http.js";
import { freePort } from "../../test/support/processes/ports.js";
import { Scope } from "../../test/support/processes/scope.js";
import { startServer } from "../../test/support/processes/server.js";
import { startEcho } from "../../test/support/targets/echo.js";
import { AGENTS_PER_PROCESS, startManyAgents } from "../agents/start.js";
import type { Ground } from "../contenders/ground.js";
import { startServerOf } from "../contenders/pair.js";

/** Every link is reset in the same moment, and the network is there again at once; or the server is killed and started again. */
export type Cut = "links cut" | "server killed";

export interface Recovery {
  readonly how: Cut;
  readonly agents: number;
  readonly dials: number;
  readonly refused: number;
  /** From the cut to the last dial that was refused; 0 when none was. */
  readonly refusedForSeconds: number;
  /** Until the server has every agent again. */
  readonly allBackSeconds: number;
}

const DIAL_EVERY_MS = 50;
const ALL_BACK_WITHIN_MS = 120_000;
const AGENTS_METRIC = "konnectivity_network_proxy_server_ready_backend_connections";

export async function recoverFromCut(how: Cut, agents: number, ground: Ground): Promise<Recovery> {
  const scope = new Scope();
  try {
    let server = await startServerOf(scope, "ours", "connect-uds", ground);
    const { place } = server;
    const relay = scope.use(await Relay.open(await freePort(), place.agentPort));
    const echo = scope.use(await startEcho());
    await startManyAgents(scope, { count: agents, perProcess: AGENTS_PER_PROCESS }, relay.port, ground.pki);
    const connected = () => metric(place.adminPort, AGENTS_METRIC);
    const all = async () => (await connected()) === agents;
    await waitUntil("the server to have all agents", all, { withinMs: ALL_BACK_WITHIN_MS });

    const dials = new Dials(place.udsPath, echo.address);
    await waitUntil("dials to be served", () => dials.made > 5);
    const cutAt = performance.now();
    if (how === "links cut") relay.cut("reset");
    else {
      await server.process.kill();
      server = await startServer({ origin: "ours", place, pki: ground.pki });
      scope.use(server.process);
    }
    await waitUntil("the server to have lost agents", async () => (await connected()) < agents);
    relay.clear();
    await waitUntil("the server to have all agents again", all, { withinMs: ALL_BACK_WITHIN_MS });
    const allBackSeconds = (performance.now() - cutAt) / 1000;
    await dials.stop();
    const lastRefusal = dials.refusals.at(-1);
    return {
      how,
      agents,
      dials: dials.made,
      refused: dials.refusals.length,
      refusedForSeconds: lastRefusal === undefined ? 0 : (lastRefusal - cutAt) / 1000,
      allBackSeconds,
    };
  } finally {
    await scope.close();
  }
}

/** One dial after the other, without an end. */
class Dials {
  made = 0;
  /** When each one that failed had begun. */
  readonly refusals: number[] = [];
  readonly #running: Promise<void>;
  #stopped = false;

  constructor(path: string, target: string) {
    this.#running = this.#run(path, target);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.#running;
  }

  async #run(path: string, target: string): Promise<void> {
    while (!this.#stopped) {
      const began = performance.now();
      const served = await askFrontend({ transport: "uds", path }, connectRequest(target)).then(
        ({ status, socket }) => {
          socket.destroy();
          return status === 200;
        },
        () => false,
      );
      this.made++;
      if (!served) this.refusals.push(began);
      await sleep(DIAL_EVERY_MS);
    }
  }
}
