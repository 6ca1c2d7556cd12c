/** Dials of one process, counted as they end. */
export class DialTally {
  established = 0;
  failed = 0;
  /** Of the established ones. */
  msSum = 0;

  count(established: boolean, ms: number): void {
    if (established) {
      this.established++;
      this.msSum += ms;
    } else this.failed++;
  }

  get totals(): { dialsEstablished: number; dialsFailed: number; dialMsSum: number } {
    return { dialsEstablished: this.established, dialsFailed: this.failed, dialMsSum: Math.round(this.msSum) };
  }
}
