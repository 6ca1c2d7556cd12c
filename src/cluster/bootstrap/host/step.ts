/** The bridge as an ordered list of small steps, each of which can tell whether it is done and do what is missing. */
import type { Opened } from "./opened.js";
import type { RecordKeeper } from "./record.js";

export interface StepState {
  /** `done`: nothing to do. `missing`: `do` brings it about. `wrong`: it is there, but not as it should be. */
  readonly state: "done" | "missing" | "wrong";
  /** One sentence without its full stop. */
  readonly detail: string;
}

export interface Step {
  /** Stable, for scripts. */
  readonly name: string;
  readonly title: string;
  /** What `do` may leave behind, however it ends. */
  makes(): Promise<readonly Opened[]>;
  /** Changes nothing. */
  check(): Promise<StepState>;
  /** Returns when the step is done; throws when it cannot be. Safe to repeat, also after it was interrupted anywhere. */
  do(): Promise<void>;
  /** When it is somebody else's to do: what, exactly. */
  readonly byHand?: string;
}

export type Outcome = "already so" | "done" | "left to you";

export interface StepResult {
  readonly name: string;
  readonly title: string;
  readonly outcome: Outcome;
  readonly detail: string;
  readonly tookMs: number;
  /** What somebody has to do, when it is left to them. */
  readonly byHand?: string;
}

export interface Progress {
  starts(step: Step): void;
  ends(result: StepResult): void;
}

/** Throws what a step throws; everything up to there stays, and the next run goes on from it. */
export async function runSteps(
  steps: readonly Step[],
  keeper: RecordKeeper,
  now: () => number,
  progress: Progress,
): Promise<StepResult[]> {
  const results: StepResult[] = [];
  for (const step of steps) {
    const start = now();
    const before = await step.check();
    const outcome = await carryOut(step, before, keeper, progress);
    const { detail } = outcome === "done" ? await step.check() : before;
    const { name, title } = step;
    const byHand = outcome === "left to you" && step.byHand !== undefined ? { byHand: step.byHand } : {};
    const result = { name, title, outcome, detail, tookMs: now() - start, ...byHand };
    results.push(result);
    progress.ends(result);
  }
  return results;
}

async function carryOut(step: Step, { state }: StepState, keeper: RecordKeeper, progress: Progress): Promise<Outcome> {
  if (state === "done") return "already so";
  // Also what others do for the bridge has to be undone.
  await keeper.willOpen(await step.makes());
  if (step.byHand !== undefined) return "left to you";
  progress.starts(step);
  await step.do();
  return "done";
}
