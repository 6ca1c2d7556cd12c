/** The live page and the admin API for facts that are gathered from elsewhere; on loopback only. */

import { hostname } from "node:os";
import { type Clock, pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { RunningHttp } from "../../../base/http.js";
import { MetricsRegistry } from "../../../base/metrics/registry.js";
import { listening } from "../../../tunnel/events/channels.js";
import type { GatheredFacts, SourceInfo, SourceName } from "../../observe/admin/contract.js";
import type { ObservedRole } from "../../observe/admin/observed-role.js";
import { startAdmin } from "../../observe/admin.js";
import { NO_TRAFFIC } from "../../observe/roles/common.js";

export interface OverviewOptions {
  /** 0: any free one. */
  readonly port: number;
  readonly tokenFile: string;
  readonly version: string;
  readonly providers: readonly FactProvider[];
}

/** How long the start waits for first answers; later ones appear on the page. */
const FIRST_ANSWERS_MS = 3_000;

export async function startOverview({ port, tokenFile, version, providers }: OverviewOptions): Promise<RunningHttp> {
  const subject = new ObservedOverview(providers);
  const options = { source: subject, version, subject, tokenFile, profiling: false };
  const http = await startAdmin({ host: "127.0.0.1", port }, new MetricsRegistry(), options);
  listening.publish({ source: subject, what: "admin", address: http.address });
  const late = new AbortController();
  await Promise.race([subject.askAll(), pause(systemClock, FIRST_ANSWERS_MS, late.signal)]);
  late.abort();
  return http;
}

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

export interface ProvidedFacts {
  readonly facts: Omit<GatheredFacts, "sources">;
  /** How many there are beyond what a list may hold. */
  readonly leftOut?: number;
}

export interface FactProvider {
  readonly what: SourceName;
  readonly where: string;
  ask(): Promise<ProvidedFacts>;
}

/** Errors may quote what a stranger sent. */
const MAX_ERROR_CHARS = 500;

/** Asks again only while somebody wants to know, and one question at a time. */
export class PolledSource {
  readonly #provider: FactProvider;
  readonly #everyMs: number;
  readonly #clock: Clock;
  #answer: (ProvidedFacts & { readonly at: number }) | undefined;
  #failure: Pick<SourceInfo, "error" | "remedy"> | undefined;
  #asking: Promise<void> | undefined;
  /** When the last question ended, however it did. */
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(provider: FactProvider, everyMs: number, clock: Clock = systemClock) {
    this.#provider = provider;
    this.#everyMs = everyMs;
    this.#clock = clock;
  }

  /** What is known; if that is old, the provider is asked again. */
  get facts(): ProvidedFacts["facts"] {
    if (this.#clock.now() - this.#endedAt >= this.#everyMs) void this.ask();
    return this.#answer?.facts ?? {};
  }

  get info(): SourceInfo {
    const { what, where } = this.#provider;
    const { at, leftOut = 0 } = this.#answer ?? {};
    return {
      ...{ what, where },
      state: this.#failure !== undefined ? "failing" : at === undefined ? "asking" : "ok",
      ...this.#failure,
      answeredAt: at,
      leftOut: leftOut || undefined,
    };
  }

  /** Resolves when the question under way has ended; never rejects. */
  ask(): Promise<void> {
    this.#asking ??= this.#provider
      .ask()
      .then(
        (answer) => {
          this.#answer = { ...answer, at: this.#clock.date() };
          this.#failure = undefined;
        },
        (reason: unknown) => {
          this.#failure = {
            error: messageOf(reason).slice(0, MAX_ERROR_CHARS),
            remedy: reason instanceof DrawbridgeError ? reason.remedy : undefined,
          };
        },
      )
      .finally(() => {
        this.#asking = undefined;
        this.#endedAt = this.#clock.now();
      });
    return this.#asking;
  }
}
