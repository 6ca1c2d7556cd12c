import { loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { describeMachine, type Machine, machineText } from "./results/machine.js";

/** Runnable processes; above that, figures are noise. */
const MOST_LOAD = 1;
const LOOK_EVERY_MS = 5_000;
/** The kernel's average follows a machine that has become quiet within a minute or two. */
const WAIT_MS = 180_000;

interface Surroundings {
  readonly load: () => number;
  readonly sleep: (ms: number) => Promise<unknown>;
}

/** The machine that a run begins on, quiet unless forced; the run says what it is. */
export async function quietMachine(force: boolean, say: (line: string) => void): Promise<Machine> {
  await untilQuiet(force, say);
  const machine = describeMachine();
  say(machineText(machine));
  return machine;
}

/** Waits for a quiet machine and refuses a busy one with a sentence; forced, it only says so. */
export async function untilQuiet(
  force: boolean,
  say: (line: string) => void,
  { load, sleep: wait }: Surroundings = { load: () => loadavg()[0] ?? 0, sleep },
): Promise<void> {
  if (force) {
    if (load() > MOST_LOAD) say(`The machine is busy (load ${load().toFixed(1)}): figures will be noisy.`);
    return;
  }
  for (let waited = 0; load() > MOST_LOAD; waited += LOOK_EVERY_MS) {
    if (waited >= WAIT_MS) {
      throw new Error(
        `the machine is busy (load ${load().toFixed(1)}, more than ${MOST_LOAD}), also after ${WAIT_MS / 60_000} minutes: end what else runs, or use --force.`,
      );
    }
    if (waited % 30_000 === 0) say(`The machine is busy (load ${load().toFixed(1)}): waiting until it is quiet.`);
    await wait(LOOK_EVERY_MS);
  }
}
