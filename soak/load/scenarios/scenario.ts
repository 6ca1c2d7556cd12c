import type { Errand } from "../errand.js";
import type { Ground } from "../ground.js";

/** What is done with one tunnel. Throws Broken when it ends before its time. */
export type Scenario = (errand: Errand, ground: Ground) => Promise<void>;

export const KIB = 1024;
export const MIB = 1024 * KIB;
