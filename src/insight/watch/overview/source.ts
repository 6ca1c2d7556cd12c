/** Facts that are gathered from elsewhere: again only while somebody wants to know, and one question at a time. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { GatheredFacts, SourceInfo, SourceName } from "../../observe/admin/contract.js";

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

export class PolledSource {
  readonly #provider: FactProvider;
  readonly #everyMs: number;
  readonly #now: () => number;
  #answer: (ProvidedFacts & { readonly at: number }) | undefined;
  #failure: Pick<SourceInfo, "error" | "remedy"> | undefined;
  #asking: Promise<void> | undefined;
  /** When the last question ended, however it did. */
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(provider: FactProvider, everyMs: number, now: () => number = Date.now) {
    this.#provider = provider;
    this.#everyMs = everyMs;
    this.#now = now;
  }

  /** What is known; if that is old, the provider is asked again. */
  get facts(): ProvidedFacts["facts"] {
    if (this.#now() - this.#endedAt >= this.#everyMs) void this.ask();
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
          this.#answer = { ...answer, at: this.#now() };
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
        this.#endedAt = this.#now();
      });
    return this.#asking;
  }
}
