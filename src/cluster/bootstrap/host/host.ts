/** The machine a bridge stands on, as far as the bridge's commands have to do with it. */
import type { HttpAnswer } from "../../../base/http-get.js";
import type { HostNetwork } from "../address/host-network.js";
import type { HostFiles } from "./files.js";

export interface Answer {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

export interface HostProcess {
  readonly pid: number;
  readonly argv: readonly string[];
}

export interface Host {
  readonly files: HostFiles;
  readonly network: HostNetwork;
  /** Milliseconds since 1970. */
  now(): number;
  pause(ms: number): Promise<void>;
  /** To its end; that it fails is an answer, also when the program is not there. */
  run(argv: readonly string[], options?: RunOptions): Promise<Answer>;
  /** A process that outlives this one; what it prints is appended to the file. Resolves to its id. */
  launch(argv: readonly string[], log: string): Promise<number>;
  /** Of the whole host, those in containers too. */
  processes(): Promise<readonly HostProcess[]>;
  /** Nothing happens when it is gone. */
  signal(pid: number, name: "SIGTERM" | "SIGKILL"): void;
  /** Whether something listens on that TCP port. */
  listens(port: number): Promise<boolean>;
  /** Undefined when nothing answers. */
  ask(url: string): Promise<HttpAnswer | undefined>;
}

export interface RunOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly timeoutMs?: number;
}

/** Whether a process was started with exactly this flag, in either of the two ways to write it. */
export function hasFlag({ argv }: HostProcess, name: string, value: string): boolean {
  return argv.some(
    (word, index) => word === `--${name}=${value}` || (word === `--${name}` && argv[index + 1] === value),
  );
}

/** Looks again and again; false when the time is over. */
export async function waitFor(
  host: Pick<Host, "now" | "pause">,
  deadline: number,
  isSo: () => Promise<boolean>,
  everyMs = 250,
): Promise<boolean> {
  for (;;) {
    if (await isSo()) return true;
    if (host.now() >= deadline) return false;
    await host.pause(Math.min(everyMs, Math.max(1, deadline - host.now())));
  }
}
