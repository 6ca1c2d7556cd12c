/** How the time is used: a warm-up, then rounds of load with faults, each followed by a calm in which all is counted. */
export interface Schedule {
  readonly warmUpMs: number;
  readonly rounds: number;
  /** Faults of one round. */
  readonly faultsMs: number;
}

const ROUND_MINUTES = 3;
/** What a calm takes, about. */
const CALM_MS = 15_000;

export function scheduleOf(minutes: number, smoke: boolean): Schedule {
  const rounds = smoke ? 1 : Math.max(1, Math.floor(minutes / ROUND_MINUTES));
  const totalMs = minutes * 60_000;
  const warmUpMs = Math.min(20_000, totalMs / 10);
  const spare = (totalMs - warmUpMs - CALM_MS) / rounds - CALM_MS;
  return { warmUpMs, rounds, faultsMs: Math.max(totalMs / rounds / 2, spare) };
}
