/** What was done, for the progress line and the summary. */
export class Tally {
  /** Faults and mischief by name. */
  readonly faults = new Map<string, number>();
  /** Errands by kind. */
  readonly jobs = new Map<string, number>();
  completed = 0;
  /** Ended by a fault in their path. */
  interrupted = 0;
  /** Dials refused or lost by a fault in their path. */
  failedDials = 0;
  bytesUp = 0;
  bytesDown = 0;

  received(by: "caller" | "endpoint", bytes: number): void {
    if (by === "caller") this.bytesDown += bytes;
    else this.bytesUp += bytes;
  }

  fault(name: string): void {
    this.faults.set(name, (this.faults.get(name) ?? 0) + 1);
  }

  job(kind: string): void {
    this.jobs.set(kind, (this.jobs.get(kind) ?? 0) + 1);
  }

  get faultCount(): number {
    return [...this.faults.values()].reduce((sum, count) => sum + count, 0);
  }

  get errandCount(): number {
    return [...this.jobs.values()].reduce((sum, count) => sum + count, 0);
  }
}
