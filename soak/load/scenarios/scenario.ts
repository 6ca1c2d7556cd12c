import type { Ground } from "../ground.js";
import type { Job } from "../job.js";

/** What is done with one tunnel. Throws Broken when it ends before its time. */
export type Scenario = (job: Job, ground: Ground) => Promise<void>;

export const KIB = 1024;
export const MIB = 1024 * KIB;
