/** A process that has nothing of its own to show, and gathers what others know. */
import { hostname } from "node:os";
import type { Elsewhere } from "../../observe/admin/contract.js";
import type { Subject } from "../../observe/admin/subject.js";
import { NO_TRAFFIC } from "../../observe/roles/common.js";
import { type Provider, Source } from "./source.js";

/** Nobody follows more, and an API server should not notice. */
const EVERY_MS = 3_000;

export class OverviewSubject implements Subject {
  readonly #sources: readonly Source[];

  constructor(providers: readonly Provider[], everyMs = EVERY_MS) {
    this.#sources = providers.map((provider) => new Source(provider, everyMs));
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

  elsewhere(): Elsewhere {
    const findings = this.#sources.map((source) => source.findings);
    return Object.assign({}, ...findings, { sources: this.#sources.map(({ info }) => info) });
  }
}
