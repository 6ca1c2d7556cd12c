import { readFileSync, writeFileSync } from "node:fs";

/** The highest resident memory of a process since the last reset. */
export class MemoryMeter {
  readonly #pid: number;

  constructor(pid: number) {
    this.#pid = pid;
  }

  /** Sets the kernel's high-water mark back to what is resident now. */
  reset(): void {
    try {
      writeFileSync(`/proc/${this.#pid}/clear_refs`, "5");
    } catch {
      // Without that right the mark stays what it was, which is stricter.
    }
  }

  /** undefined: the process is gone. */
  peakMiB(): number | undefined {
    try {
      const status = readFileSync(`/proc/${this.#pid}/status`, "utf8");
      return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
    } catch {
      return undefined;
    }
  }
}
