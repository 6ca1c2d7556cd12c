import type { ConnectId } from "../../wire/packet.js";

/** Enough for the connections that can have bytes in flight; older ones are answered as unknown again, which is safe. */
const KEPT = 4096;

/** Connection numbers that were closed here and whose last packets may still be under way: nothing to complain about. */
export class RecentIds {
  readonly #ids = new Set<ConnectId>();

  add(id: ConnectId): void {
    this.#ids.add(id);
    if (this.#ids.size > KEPT) {
      for (const oldest of this.#ids) {
        this.#ids.delete(oldest);
        break;
      }
    }
  }

  has(id: ConnectId): boolean {
    return this.#ids.has(id);
  }

  delete(id: ConnectId): void {
    this.#ids.delete(id);
  }
}
