import type { Court } from "./court.js";

/** A line as klog prints it: severity, date, time, process, message. */
const KLOG = /^([IWE])\d{4} \d\d:\d\d:\d\d\.\d{6} +\d+\] (.*)$/;

/** Reads what the processes print: nothing at error level, nothing that is not a log line; warnings are counted. */
export class LogLines {
  readonly warnings = new Map<string, number>();
  readonly #court: Court;

  constructor(court: Court) {
    this.#court = court;
  }

  read(name: string, line: string): void {
    const [, severity, text = ""] = KLOG.exec(line) ?? [];
    if (severity === "I") return;
    if (severity === "W") {
      const message = text.replace(/ \w+=.*$/, "");
      this.warnings.set(message, (this.warnings.get(message) ?? 0) + 1);
    } else if (severity === "E") this.#court.violation(`${name} logged an error: ${text}`);
    else if (line.trim() !== "") this.#court.violation(`${name} printed something that is no log line: ${line}`);
  }
}
