/** A process that carries nothing itself and gathers what others know. */
import { hostname } from "node:os";
import type { GatheredFacts } from "../../observe/admin/contract.js";
import type { ObservedRole } from "../../observe/admin/observed-role.js";
import { NO_TRAFFIC } from "../../observe/roles/common.js";
import { type FactProvider, PolledSource } from "./source.js";

/** People do not follow more, and an API server should not notice. */
const EVERY_MS = 3_000;

export class ObservedOverview implements ObservedRole {
  readonly #sources: readonly PolledSource[];

  constructor(providers: readonly FactProvider[], everyMs = EVERY_MS) {
    this.#sources = providers.map((provider) => new PolledSource(provider, everyMs));
  }

  /** Once, so that the first reader finds something. */
  async askAll(): Promise<void> {
    await Promise.all(this.#sources.map((source) => source.ask()));
  }

  process() {
    return { role: "overview" as const, id: hostname(), ready: true, draining: false };
  }

  totals() {
    return NO_TRAFFIC;
  }

  gathered(): GatheredFacts {
    const facts = this.#sources.map((source) => source.facts);
    return Object.assign({}, ...facts, { sources: this.#sources.map(({ info }) => info) });
  }
}
