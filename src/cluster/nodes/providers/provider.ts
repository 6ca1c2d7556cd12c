/** What makes and removes machines: one object for each provider, which says what is run and runs nothing itself. */
import type { HostSettings, Worker } from "../workers/worker.js";
import type { Setting } from "./settings.js";

export type Verb = "create" | "delete";

/** What counts of a worker. */
export type Machine = HostSettings &
  Pick<Worker, "name" | "pool" | "zone" | "provider" | "shape" | "removedByCommand" | "hasCreateArguments">;

/** One program that is run, without a shell. */
export interface MachineStep {
  readonly command: readonly string[];
  /** What its error output ends with when it was done before: somebody was killed before that was written down. */
  readonly doneBefore?: RegExp;
  /** A word that stands for its output in the commands after it. */
  readonly result?: string;
}

export interface Provider {
  /** Those that it uses. */
  readonly settings: readonly Setting[];
  /** Whether it gives its tool more arguments of the user's own, and connects where the user says. */
  readonly takesArguments?: boolean;
  readonly connects?: boolean;
  /**
   * What makes or removes the machine of a worker, in this order; nothing where people do it. `userData` is a file. Throws where
   * a setting is missing.
   */
  steps(verb: Verb, worker: Machine, userData: string): readonly MachineStep[];
}
