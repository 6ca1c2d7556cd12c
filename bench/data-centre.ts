/** ignition-crowd.ts as a part of the benchmark: in a process of its own, its lines kept for the report. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** What it is called among the rows. */
export const DATA_CENTRE = "ignition-crowd";

export const DATA_CENTRE_ABOUT = "2,000 machines fetch their first configuration at once, each by TLS of its own.";
const MACHINES = 2_000;

export interface DataCentre {
  readonly lines: readonly string[];
  /** Every machine got what it should. */
  readonly intact: boolean;
}

export async function fillDataCentre(): Promise<DataCentre> {
  const child = fork(fileURLToPath(new URL("ignition-crowd.ts", import.meta.url)), [String(MACHINES)], {
    stdio: ["ignore", "pipe", "ignore", "ipc"],
  });
  const ended = once(child, "exit");
  const lines: string[] = [];
  for await (const line of createInterface({ input: child.stdout! })) lines.push(line);
  const [code] = await ended;
  return { lines, intact: code === 0 };
}
