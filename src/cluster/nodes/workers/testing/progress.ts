/** What would have been said while waiting, which takes no time. */
import { hastyClock } from "../../../../base/testing/hasty-clock.js";
import { Deadline, type DeadlineOptions, type Progress } from "../deadline.js";

export class RecordedProgress implements Progress {
  readonly told: string[] = [];
  readonly states: string[] = [];
  readonly log = (line: string): void => void this.told.push(line);
  readonly status = (line: string): void => void this.states.push(line);
}

export function patient(progress: Progress, change: Partial<DeadlineOptions> = {}): Deadline {
  return new Deadline({ timeoutMs: 60_000, progress, clock: hastyClock(), ...change });
}
