/** A host's wall clock for real processes, set while they run: libfaketime of Debian. Clocks for durations stay as they are. */
import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";

const LIBRARY = "/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1";
const SHARED = "/dev/shm";

/** Whether the library is there; when not, one line says so, or it is a failure (DRAWBRIDGE_REQUIRE_PEERS=1). */
export function clocksCanBeSet(): boolean {
  if (existsSync(LIBRARY)) return true;
  const missing = `${LIBRARY} missing: run .ci/install-packages (Debian: libfaketime).`;
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(missing);
  process.stderr.write(`skipped: ${missing}\n`);
  return false;
}

export class HostClock {
  readonly #file: string;

  /** The file holds the offset. */
  constructor(file: string, hours = 0) {
    this.#file = file;
    this.set(hours);
  }

  /** So many hours from the true time, from this moment on. */
  set(hours: number): void {
    writeFileSync(`${this.#file}.new`, `${hours < 0 ? "" : "+"}${hours * 3600}s\n`);
    renameSync(`${this.#file}.new`, this.#file);
  }

  /** What a process on this host has in its environment. */
  get env(): Record<string, string> {
    return {
      LD_PRELOAD: LIBRARY,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: "1",
      // Files keep the times that they were written at.
      NO_FAKE_STAT: "1",
    };
  }

  /** A command that starts the program behind it on this host. */
  get through(): string[] {
    return ["env", ...Object.entries(this.env).map(([name, value]) => `${name}=${value}`)];
  }

  /** Does something whose commands believe that it is so many hours from now. */
  during<T>(act: () => T): T {
    const before = { ...process.env };
    Object.assign(process.env, this.env);
    try {
      return act();
    } finally {
      for (const name of Object.keys(this.env)) delete process.env[name];
      Object.assign(process.env, before);
    }
  }

  /** A process that was killed leaves its shared memory behind, which would keep the next of that number from starting. */
  static sweep(): void {
    for (const name of readdirSync(SHARED)) {
      const pid = /^(?:sem\.)?faketime_(?:shm|sem)_(\d+)$/.exec(name)?.[1];
      if (pid !== undefined && !isRunning(Number(pid))) rmSync(`${SHARED}/${name}`, { force: true });
    }
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}
