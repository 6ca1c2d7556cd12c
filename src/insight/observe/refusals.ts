/** The last refusals of one process, with their explanations. */

import { plainJson } from "../../base/plain-json.js";
import { shown } from "../../base/redact/redact.js";
import { serverRefused } from "../../tunnel/events/channels.js";
import type { ChoiceExplanation, ExplainedRefusal, Refusal } from "./admin/contract.js";

interface KeptRefusal {
  readonly refusal: Refusal;
  /** JSON, so that what is kept has a size that can be bounded. */
  readonly explanation: string | undefined;
}

const MAX_REFUSALS = 256;
const MAX_EXPLANATION_CHARS = 64 * 1024;

export class RefusalLog {
  /** In order of arrival. */
  readonly #kept = new Map<string, KeptRefusal>();
  readonly #now: () => number;
  #count = 0;

  constructor(now: () => number = Date.now) {
    this.#now = now;
  }

  /** How many there ever were. */
  get count(): number {
    return this.#count;
  }

  /** The answer is its id. */
  add(refusal: Omit<Refusal, "at" | "id"> & { readonly id?: string }, explanation?: object): string {
    const { id = `n${this.#count + 1}`, target, why, ...more } = refusal;
    this.#count++;
    const json = explanation === undefined ? undefined : plainJson(explanation);
    this.#kept.set(id, {
      refusal: { id, at: this.#now(), target: shown(target), why: shown(why), ...more },
      // Half an explanation would be no JSON; the sentence has to do.
      explanation: json !== undefined && json.length > MAX_EXPLANATION_CHARS ? undefined : json,
    });
    if (this.#kept.size > MAX_REFUSALS) this.#kept.delete(this.#kept.keys().next().value!);
    return id;
  }

  /** Newest first, without the explanations. */
  list(limit = MAX_REFUSALS): Refusal[] {
    const kept = [...this.#kept.values()];
    return kept
      .slice(Math.max(0, kept.length - limit))
      .reverse()
      .map(({ refusal }) => refusal);
  }

  explained(): ExplainedRefusal[] {
    return this.list().map(({ id }) => this.find(id)!);
  }

  find(id: string): ExplainedRefusal | undefined {
    const kept = this.#kept.get(id);
    if (kept?.explanation === undefined) return kept?.refusal;
    return { ...kept.refusal, explanation: JSON.parse(kept.explanation) as ChoiceExplanation };
  }
}

/** Keeps what a server refuses; the answer ends it. */
export function keepServerRefusals(log: RefusalLog, source: object): () => void {
  return serverRefused.subscribe(({ referenceId, address, explanation }) => {
    log.add({ id: referenceId, target: address, why: sentence(explanation) }, explanation);
  }, source);
}

function sentence({ agentsConnected = 0, strategies = [] }: Partial<ChoiceExplanation>): string {
  if (agentsConnected === 0) return "No agent is connected.";
  const tried = strategies.map(({ name, matches }) => `${name}: ${matches}`).join(", ");
  return `No agent of ${agentsConnected} takes this destination (matches by strategy: ${tried}).`;
}
