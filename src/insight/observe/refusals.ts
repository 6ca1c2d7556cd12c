/** The last refusals of one process, with their explanations. */

import { plainJson } from "../../base/plain-json.js";
import { shown } from "../../base/redact/redact.js";
import { serverRefused } from "../../tunnel/events/channels.js";
import { type ChoiceExplanation, type ExplainedRefusal, NO_AGENT_CONNECTED, type Refusal } from "./admin/contract.js";
import { Recent } from "./recent.js";

const MAX_REFUSALS = 256;
const MAX_EXPLANATION_CHARS = 64 * 1024;

export class RefusalLog extends Recent<Refusal> {
  /** JSON, so that what is kept has a size that can be bounded. */
  readonly #explanations = new WeakMap<Refusal, string>();

  constructor() {
    super(MAX_REFUSALS);
  }

  /** The answer is its id. */
  add(refused: Omit<Refusal, "at" | "id"> & { readonly id?: string }, explanation?: object): string {
    const { id = `n${this.count + 1}`, target, why, ...more } = refused;
    const refusal = { id, at: Date.now(), target: shown(target), why: shown(why), ...more };
    this.keep({ id, describe: () => refusal });
    const json = explanation === undefined ? "" : plainJson(explanation);
    // Half an explanation would be no JSON; the sentence has to do.
    if (json !== "" && json.length <= MAX_EXPLANATION_CHARS) this.#explanations.set(refusal, json);
    return id;
  }

  /** Newest first. */
  explained(): ExplainedRefusal[] {
    return this.since(0).map(({ id }) => this.find(id)!);
  }

  override find(id: string): ExplainedRefusal | undefined {
    const refusal = super.find(id);
    const explanation = refusal && this.#explanations.get(refusal);
    if (refusal === undefined || explanation === undefined) return refusal;
    return { ...refusal, explanation: JSON.parse(explanation) as ChoiceExplanation };
  }
}

/** Keeps what a server refuses; the answer ends it. */
export function keepServerRefusals(log: RefusalLog, source: object): () => void {
  return serverRefused.subscribe(({ referenceId, address, explanation }) => {
    log.add({ id: referenceId, target: address, why: sentence(explanation) }, explanation);
  }, source);
}

function sentence({ agentsConnected = 0, strategies = [], wait }: Partial<ChoiceExplanation>): string {
  const waiting = wait === undefined ? "" : ` Waiting (--wait-for-agent): ${wait}.`;
  if (agentsConnected === 0) return `${NO_AGENT_CONNECTED}${waiting}`;
  const tried = strategies.map(({ name, matches }) => `${name}: ${matches}`).join(", ");
  return `No agent of ${agentsConnected} takes this destination (matches by strategy: ${tried}).${waiting}`;
}
