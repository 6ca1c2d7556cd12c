/** The one limit that a whole teardown keeps, whatever does not answer. */
import type { Host } from "../host/host.js";

export class Limit {
  readonly #host: Pick<Host, "now">;
  readonly end: number;

  constructor(host: Pick<Host, "now">, ms: number) {
    this.#host = host;
    this.end = host.now() + ms;
  }

  get leftMs(): number {
    return Math.max(0, this.end - this.#host.now());
  }

  /** For one request: no longer than usual, no longer than is left, but long enough to be answered at all. */
  requestMs(usual = 10_000): number {
    return Math.min(usual, Math.max(1_000, this.leftMs));
  }
}
