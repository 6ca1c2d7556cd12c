import type { Options } from "./options.js";

/** What the outer half of the demo tells the inner one. */
export interface Script extends Options {
  readonly isolation: "namespace" | "simulated";
  /** How the isolation is made, or why there is none, in words. */
  readonly means: string;
  /** Private to this run and removed after it. */
  readonly folder: string;
  /** Whether processes can be made to end with their parent (processes/tie.ts). */
  readonly tie: boolean;
}
