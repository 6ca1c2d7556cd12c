/** One of those who are asked: again only while somebody wants to know, and never twice at once. */
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import type { Elsewhere, SourceInfo, SourceName } from "../../observe/admin/contract.js";

export type Findings = Omit<Elsewhere, "sources">;

export interface Answer {
  readonly findings: Findings;
  /** How many there are beyond what a list may hold. */
  readonly leftOut?: number;
}

export interface Provider {
  readonly what: SourceName;
  readonly where: string;
  ask(): Promise<Answer>;
}

/** What an error may have brought along is cut here. */
const LONGEST_ERROR = 500;

export class Source {
  readonly #provider: Provider;
  readonly #everyMs: number;
  readonly #now: () => number;
  #answer: (Answer & { readonly at: number }) | undefined;
  #failure: Pick<SourceInfo, "error" | "remedy"> | undefined;
  #asking: Promise<void> | undefined;
  /** When the last question ended, however it did. */
  #endedAt = Number.NEGATIVE_INFINITY;

  constructor(provider: Provider, everyMs: number, now: () => number = Date.now) {
    this.#provider = provider;
    this.#everyMs = everyMs;
    this.#now = now;
  }

  /** What is known; if that is old, better is on its way. */
  get findings(): Findings {
    if (this.#now() - this.#endedAt >= this.#everyMs) void this.ask();
    return this.#answer?.findings ?? {};
  }

  get info(): SourceInfo {
    const { what, where } = this.#provider;
    const { at, leftOut = 0 } = this.#answer ?? {};
    return {
      ...{ what, where },
      state: this.#failure !== undefined ? "failing" : at === undefined ? "asking" : "ok",
      ...this.#failure,
      ...(at === undefined ? {} : { answeredAt: at }),
      ...(leftOut === 0 ? {} : { leftOut }),
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
            error: messageOf(reason).slice(0, LONGEST_ERROR),
            ...(reason instanceof DrawbridgeError ? { remedy: reason.remedy } : {}),
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
