/** How a step tells the audience what happens. */
export interface Show {
  /** On the way. */
  note(line: string): void;
  /** What the step has shown, in one line for the table. */
  result(line: string): void;
  /** Figures for the JSON output. */
  figures(figures: Readonly<Record<string, number | string>>): void;
}
