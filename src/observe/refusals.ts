import { serverRefused } from "./channels.js";
import { plainJson } from "./plain-json.js";

export interface Refusal {
  readonly referenceId: string;
  readonly address: string;
  /** ISO 8601. */
  readonly time: string;
}

interface KeptRefusal extends Refusal {
  /** JSON, so that what is kept has a size that can be bounded. */
  readonly explanation: string;
}

const MAX_REFUSALS = 256;
const MAX_EXPLANATION_CHARS = 64 * 1024;

/** The last refusals of one server with their explanations, for the admin API. */
export class RefusalLog {
  /** In order of arrival. */
  readonly #kept = new Map<string, KeptRefusal>();
  readonly #unsubscribe: () => void;
  readonly #now: () => Date;

  constructor(source: object, now: () => Date = () => new Date()) {
    this.#now = now;
    this.#unsubscribe = serverRefused.subscribe(({ referenceId, address, explanation }) => {
      this.#keep(referenceId, address, explanation);
    }, source);
  }

  close(): void {
    this.#unsubscribe();
  }

  /** Newest first, without the explanations. */
  list(): Refusal[] {
    return [...this.#kept.values()].reverse().map(({ referenceId, address, time }) => ({ referenceId, address, time }));
  }

  find(referenceId: string): (Refusal & { readonly explanation: unknown }) | undefined {
    const kept = this.#kept.get(referenceId);
    return kept && { ...kept, explanation: JSON.parse(kept.explanation) as unknown };
  }

  #keep(referenceId: string, address: string, explanation: object): void {
    const json = plainJson(explanation);
    const cut = json.slice(0, MAX_EXPLANATION_CHARS);
    this.#kept.set(referenceId, {
      referenceId,
      address,
      time: this.#now().toISOString(),
      explanation: json.length > cut.length ? JSON.stringify({ truncated: cut }) : json,
    });
    if (this.#kept.size > MAX_REFUSALS) this.#kept.delete(this.#kept.keys().next().value!);
  }
}
