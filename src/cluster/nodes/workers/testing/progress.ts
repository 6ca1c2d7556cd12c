/** What would have been said while waiting, which takes no time. */
import { hastyClock } from "../../../../base/testing/hasty-clock.js";
import { Patience, type PatienceOptions, type Progress } from "../patience.js";

export class RecordedProgress implements Progress {
  readonly told: string[] = [];
  readonly states: string[] = [];
  readonly tell = (line: string): void => void this.told.push(line);
  readonly status = (line: string): void => void this.states.push(line);
}

export function patient(progress: Progress, change: Partial<PatienceOptions> = {}): Patience {
  return new Patience({ timeoutMs: 60_000, progress, clock: hastyClock(), ...change });
}
