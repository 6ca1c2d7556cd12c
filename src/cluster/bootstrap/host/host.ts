/** The machine that a bridge runs on, as far as the bridge's commands use it. */

import { spawn } from "node:child_process";
import { closeSync, openSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, dirname } from "node:path";
import { pause, systemClock } from "../../../base/clock.js";
import { DrawbridgeError, messageOf, wrapErrors } from "../../../base/errors/error.js";
import { type HttpAnswer, httpGet } from "../../../base/http-get.js";
import { runCommand } from "../../../base/run-command.js";
import { type HostNetwork, hostNetwork } from "../address/host-network.js";
import { hostPids, wordsOf } from "../settings/programs.js";
import { HostFiles } from "./files.js";

export interface HostProcess {
  readonly pid: number;
  readonly argv: readonly string[];
}

export interface Host {
  readonly files: HostFiles;
  readonly network: HostNetwork;
  /** As of a Clock: milliseconds that only ever grow, and milliseconds since 1970. */
  now(): number;
  date(): number;
  pause(ms: number): Promise<void>;
  run: typeof runCommand;
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

/** How long a health port on this very host may take. */
const ANSWER_MS = 2_000;

/** The machine this process runs on. */
export function thisHost(): Host {
  return {
    files: new HostFiles(),
    network: hostNetwork(),
    now: () => systemClock.now(),
    date: () => systemClock.date(),
    pause: (ms) => pause(systemClock, ms),
    run: runCommand,
    launch,
    processes,
    signal(pid, name) {
      try {
        process.kill(pid, name);
      } catch (reason) {
        if ((reason as NodeJS.ErrnoException).code !== "ESRCH") throw reason;
      }
    },
    listens,
    ask: (url) => httpGet(url, { timeoutMs: ANSWER_MS }).catch(() => undefined),
  };
}

async function launch([program = "", ...args]: readonly string[], log: string): Promise<number> {
  const output = wrapErrors("DB_SERVER_START", `The server's log ${log} cannot be written`, () =>
    openSync(log, "a", 0o600),
  );
  // Our own executables ask the environment for Node.
  const path = [process.env.PATH, dirname(process.execPath)].filter(Boolean).join(delimiter);
  const child = spawn(program, args, {
    detached: true,
    cwd: "/",
    stdio: ["ignore", output, output],
    env: { ...process.env, PATH: path },
  });
  closeSync(output);
  return new Promise((resolve, reject) => {
    child.once("error", (reason) => {
      const sentence = `The server's program ${program} cannot be run: ${messageOf(reason)}.`;
      reject(new DrawbridgeError("DB_SERVER_START", sentence, { cause: reason }));
    });
    child.once("spawn", () => {
      child.unref();
      resolve(child.pid as number);
    });
  });
}

async function processes(): Promise<HostProcess[]> {
  const found = (await hostPids()).map(async (pid) => ({ pid, argv: await wordsOf(pid) }));
  return (await Promise.all(found)).filter(({ argv }) => argv.length > 0);
}

/** Asks the kernel, not the port: a connection would appear in the server's log as a failed handshake. */
async function listens(port: number): Promise<boolean> {
  const ending = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  const tables = await Promise.all(
    ["/proc/net/tcp", "/proc/net/tcp6"].map((table) => readFile(table, "utf8").catch(() => "")),
  );
  return tables
    .flatMap((table) => table.split("\n").slice(1))
    .map((line) => line.trim().split(/\s+/))
    .some(([, local = "", , state]) => local.endsWith(ending) && state === "0A");
}
