/** Everything that checks can ask for, by name. A source gathers those that it can (check.ts). */
export interface Facts {
  /** The time by the clock of the host that is diagnosed. */
  readonly now: Date;
}
