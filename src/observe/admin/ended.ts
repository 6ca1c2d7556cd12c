import type { Tunnel } from "./contract.js";

const MAX_ENDED = 500;

/** The last tunnels that are over, for whoever asks what became of one. */
export class EndedTunnels {
  /** A ring: `#count` is how many there ever were, the newest is behind it. */
  readonly #ring: Tunnel[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(tunnel: Tunnel): void {
    this.#ring[this.#count++ % MAX_ENDED] = tunnel;
  }

  /** Those after the first `count` there ever were, newest first, `limit` at most. */
  since(count: number, limit = MAX_ENDED): Tunnel[] {
    const found: Tunnel[] = [];
    const first = Math.max(count, this.#count - Math.min(limit, MAX_ENDED));
    for (let at = this.#count - 1; at >= first; at--) found.push(this.#ring[at % MAX_ENDED]!);
    return found;
  }

  find(id: number): Tunnel | undefined {
    return this.#ring.find((tunnel) => tunnel.id === id);
  }
}
