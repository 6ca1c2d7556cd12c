/** Progress that is recorded, and a deadline whose waits take no time. */
import { hastyClock } from "../../../../base/testing/hasty-clock.js";
import { Deadline, type DeadlineOptions, type Progress } from "../deadline.js";

export class RecordedProgress implements Progress {
  readonly logged: string[] = [];
  readonly statuses: string[] = [];
  readonly log = (line: string): void => void this.logged.push(line);
  readonly status = (line: string): void => void this.statuses.push(line);
}

export function testDeadline(progress: Progress, change: Partial<DeadlineOptions> = {}): Deadline {
  return new Deadline({ timeoutMs: 60_000, progress, clock: hastyClock(), ...change });
}
