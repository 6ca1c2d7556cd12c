import type { Talker } from "./talker.js";

/** A caller's dial and what became of it. */
export interface Asked {
  readonly talker: Talker;
  /** How many answers came to its one question. */
  answers: number;
  answeredAtMs?: number;
  /** Why it was refused. */
  refusal?: string;
  /** How its connection ended without an answer. */
  lost?: string | undefined;
  gaveUp?: boolean;
  /** It does not want to wait any longer. */
  giveUp(): void;
}
