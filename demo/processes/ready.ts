import { waitUntil } from "../../test/support/processes/deadline.js";
import type { Running } from "./processes.js";

/** Waits for a sign of life, but not for a process that is already gone. */
export async function ready(
  process: Running,
  what: string,
  withinMs: number,
  probe: () => Promise<boolean> | boolean,
): Promise<void> {
  const gone = process.exited.then((how) => {
    throw new Error(`${process.name} ended (${how}) before it was ready:\n${process.tail(8)}`);
  });
  await Promise.race([waitUntil(`${process.name} ${what}`, probe, { withinMs }), gone]);
}
