/** An API that is away for one of its writes: before it is done, or after, so that nobody hears of it. */
import { KubeApiError } from "../../kube/errors.js";
import type { KubeApi } from "../../kube/port.js";

export type Interruption = "refused" | "lost";

export class InterruptedApi {
  /** So far, the interrupted one included. */
  writes = 0;
  /** Those that changed something, of which a watch would tell. */
  changes = 0;
  readonly api: KubeApi;
  readonly #at: number;
  readonly #how: Interruption;

  /** Writes count from 1; 0 interrupts none. */
  constructor(api: KubeApi, at: number, how: Interruption) {
    this.#at = at;
    this.#how = how;
    this.api = {
      ...api,
      create: (path, object) => this.#write(() => api.create(path, object)),
      update: (path, object) => this.#write(() => api.update(path, object)),
      delete: (path, options) => this.#write(() => api.delete(path, options)),
    };
  }

  async #write<T>(write: () => Promise<T>): Promise<T> {
    const isInterrupted = ++this.writes === this.#at;
    if (isInterrupted && this.#how === "refused") throw away();
    const answer = await write();
    this.changes += 1;
    if (isInterrupted) throw away();
    return answer;
  }
}

const away = () => new KubeApiError("the API did not answer", { status: 0 });
