/** The record of what was opened and what became of it. */
import type { FirewallPlan } from "../firewall/plan.js";
import type { Opened } from "../host/opened.js";

export type FinalState =
  | "removed"
  /** A change that was taken back. */
  | "restored"
  /** The API has taken the order; its controllers finish it without us. */
  | "going"
  /** It was not there. */
  | "absent"
  /** It is there still, and nobody is on it. */
  | "left";

export interface ReceiptItem {
  /** One text for each thing. */
  readonly name: string;
  readonly thing: Opened;
  /** When `up` was about to make it, ISO 8601; undefined when no record tells. */
  readonly openedAt: string | undefined;
  readonly state: FinalState;
  /** Half a sentence; empty where the state says it all. */
  readonly detail: string;
}

/** 0 clean; 1 stopped before anything could break; 3 something is left, or the API did not answer. */
export type TeardownExit = 0 | 1 | 3;

export interface Receipt {
  readonly version: 1;
  readonly bridge: {
    readonly for: string;
    readonly namespace: string;
    readonly address: string | undefined;
    readonly port: number;
    readonly madeAt: string | undefined;
  };
  readonly startedAt: string;
  readonly finishedAt: string;
  /** Nothing was there to begin with, or all of it had been told to go before. */
  readonly nothingToDo: boolean;
  /** Nothing of ours is left. */
  readonly clean: boolean;
  readonly exitCode: TeardownExit;
  /** Undefined when nobody asked it. */
  readonly apiAnswered: boolean | undefined;
  readonly items: readonly ReceiptItem[];
  /** What only somebody else can remove. */
  readonly others: Others;
  /** One sentence each. */
  readonly warnings: readonly string[];
}

export interface Others {
  /** The firewall's rules, by the platform that has them; undefined with the reason when no plan can be made. */
  readonly firewall: Pick<FirewallPlan, "platform" | "rule" | "where" | "removed" | "forgotten" | "remove"> | undefined;
  readonly notes: readonly string[];
}
