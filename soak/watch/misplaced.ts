import { AGENTS } from "../fixture/fixture.js";
import type { Ground } from "../load/ground.js";

/** A tunnel begun after `since` over the agent, though another agent's path to the same server was clear all the time. */
export function misplacedErrand({ jobs, impacts }: Ground, agent: number, since: number): string | undefined {
  const now = performance.now();
  for (const job of jobs.values()) {
    if (job.agent !== agent || job.startedAt < since) continue;
    for (let other = 0; other < AGENTS; other++) {
      if (other === agent) continue;
      if (!impacts.touched({ server: job.server, agent: other }, since, now)) return job.describe();
    }
  }
  return undefined;
}
