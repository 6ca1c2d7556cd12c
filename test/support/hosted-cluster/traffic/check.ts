import { readFileSync } from "node:fs";
import { Agent, get } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import type { Pair } from "../../lab/certificates.js";
import type { Backend } from "./backends.js";

const EVERY_MS = 200;
/** Long, since a machine that plays many has pauses. One that is killed refuses connections at once. */
const TIMEOUT_MS = 5_000;

export interface CheckOptions {
  readonly ca: string;
  readonly client: Pair;
  readonly port: number;
}

/** Asks a backend for /readyz again and again over one connection: out at the first failure, in at the first success. */
export class Check {
  readonly #ended = new AbortController();
  readonly #agent: Agent;

  constructor(backend: Backend, { ca, client, port }: CheckOptions, onChange: (backend: Backend) => void) {
    this.#agent = new Agent({
      ...{ keepAlive: true, maxSockets: 1, ca: readFileSync(ca), checkServerIdentity: () => undefined },
      ...{ cert: readFileSync(client.cert), key: readFileSync(client.key) },
    });
    void this.#run(backend, port, onChange);
  }

  end(): void {
    this.#ended.abort();
    this.#agent.destroy();
  }

  async #run(backend: Backend, port: number, onChange: (backend: Backend) => void): Promise<void> {
    const { signal } = this.#ended;
    while (!signal.aborted) {
      const next = sleep(EVERY_MS);
      const isReady = await this.#isReady(backend.address, port);
      if (signal.aborted) return;
      if (isReady !== backend.isReady) {
        backend.isReady = isReady;
        onChange(backend);
      }
      await next;
    }
  }

  #isReady(host: string, port: number): Promise<boolean> {
    return new Promise((resolve) => {
      const request = get({ host, port, path: "/readyz", agent: this.#agent });
      const late = setTimeout(() => request.destroy(new Error("late")), TIMEOUT_MS);
      const finish = (isReady: boolean) => {
        clearTimeout(late);
        resolve(isReady);
      };
      request.once("error", () => finish(false));
      request.once("response", (response) => {
        response.resume();
        response.once("error", () => finish(false));
        response.once("end", () => finish(response.statusCode === 200));
      });
    });
  }
}
