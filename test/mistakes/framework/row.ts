/** One mistake that people make, what each place must say about it, and how it is made for real. */
import type { Needs } from "../../support/lab/equipment.js";
import type { Stage } from "./stage.js";

export const groups = ["tls", "names", "limits", "kubernetes", "flags", "bundles", "tokens"] as const;
export type Group = (typeof groups)[number];

/** How many rows each group has at least; the list may grow, not shrink. */
export const LEAST: Readonly<Record<Group, number>> = {
  ...{ tls: 24, names: 10, limits: 8, kubernetes: 10, flags: 8, bundles: 6, tokens: 6 },
};

/** What one place must say; a place without patterns is asked for untruths only. */
export interface Wanted {
  readonly cause?: RegExp;
  readonly remedy?: RegExp;
}

/** Gives everything that the place says now. */
export type Ask = () => string | Promise<string>;

export interface Scene {
  /** By the names that `tells` uses, in the order in which they are asked: what is cheap and comes first, first. */
  readonly places: Readonly<Record<string, Ask>>;
  /** Whether the thing works that the mistake keeps from working. */
  works(): boolean | Promise<boolean>;
  /** Takes the mistake back while the processes run; without it everything is started again, without the mistake. */
  heal?(): void | Promise<void>;
}

export interface Mistake {
  /** Also the anchor of its row in docs/troubleshooting.md. */
  readonly id: string;
  readonly group: Group;
  readonly title: string;
  readonly needs?: Needs;
  /** The thing works in spite of the mistake, which is only warned of. */
  readonly isHarmless?: boolean;
  /** Something really times out here, so that it may be said. */
  readonly timesOut?: boolean;
  /** By the names of the scene's places. */
  readonly tells: Readonly<Record<string, Wanted>>;
  /** Flags that do not exist and stand in texts all the same, because they were typed. */
  readonly quotes?: readonly string[];
  /** What nobody may say, beyond what nobody may ever say (truth.ts). */
  readonly untrue?: readonly RegExp[];
  /** How long the places may take until they say it. */
  readonly withinMs?: number;
  /** Starts real processes, with the mistake or without it, in the same folder and network. */
  play(stage: Stage, isWrong: boolean): Promise<Scene>;
}
