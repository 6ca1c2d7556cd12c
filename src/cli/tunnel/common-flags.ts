/** Flags that server and agent share and upstream does not have. */
import type { MemoryLimits } from "../../tunnel/connection/budget.js";
import type { Flag, FlagSet } from "../flags/flag-set.js";
import { boolean, integer, string } from "../flags/flag-value.js";
import { addKlogFlags } from "../flags/klog-flags.js";
import type { LoggingOptions } from "../framework/invocation.js";
import { type AdminFlags, addAdminFlags, checkAdminFlags } from "./admin-flags.js";

/** Marks in --help what upstream's executables do not know. */
export const OURS = "drawbridge: ";

const MEBIBYTE = 1024 * 1024;

export interface CommonFlags extends AdminFlags {
  readonly help: Flag<boolean>;
  readonly verbosity: Flag<number>;
  readonly logFormat: Flag<string>;
  readonly tunnelQueueBytes: Flag<number>;
  readonly processQueueBytes: Flag<number>;
  readonly creditBudgetBytes: Flag<number>;
  readonly flightRecorder: Flag<boolean>;
  readonly dumpDir: Flag<string>;
}

export function addCommonFlags(set: FlagSet, program: string): CommonFlags {
  const bytes = (name: string, mebibytes: number, usage: string): Flag<number> =>
    set.add(name, integer, mebibytes * MEBIBYTE, OURS + usage);
  return {
    help: set.add("help", boolean, false, `help for ${program}`, { shorthand: "h" }),
    ...addKlogFlags(set),
    logFormat: set.add("log-format", string, "text", `${OURS}Log lines as text or as json.`),
    ...addAdminFlags(set, OURS),
    tunnelQueueBytes: bytes("tunnel-queue-bytes", 4, "Bytes that may wait for one slow reader."),
    processQueueBytes: bytes("process-queue-bytes", 256, "Bytes that may wait for all slow readers together."),
    creditBudgetBytes: bytes("credit-budget-bytes", 128, "Bytes of extra window granted over all tunnels."),
    flightRecorder: set.add(
      "flight-recorder",
      boolean,
      true,
      `${OURS}Remember the headers of the last 512 packets of each link, never their payload.`,
    ),
    dumpDir: set.add(
      "dump-dir",
      string,
      "",
      `${OURS}Folder for what the flight recorder remembers when a path fails (server) or the process crashes. If empty, nothing is written.`,
    ),
  };
}

/** Throws an Error with one sentence. */
export function checkCommonFlags(flags: CommonFlags): void {
  const { logFormat, tunnelQueueBytes, processQueueBytes, creditBudgetBytes } = flags;
  if (logFormat.value !== "text" && logFormat.value !== "json") {
    throw new Error(`--log-format must be text or json, got ${logFormat.value}`);
  }
  checkAdminFlags(flags);
  if (flags.dumpDir.value !== "" && !flags.flightRecorder.value) {
    throw new Error("--dump-dir needs the flight recorder: leave --flight-recorder at true");
  }
  for (const flag of [tunnelQueueBytes, processQueueBytes, creditBudgetBytes]) {
    if (flag.value <= 0) throw new Error(`--${flag.name} must be greater than 0, got ${flag.value}`);
  }
  if (processQueueBytes.value < tunnelQueueBytes.value) {
    throw new Error("--process-queue-bytes must be at least --tunnel-queue-bytes");
  }
}

export function loggingOf(flags: CommonFlags): LoggingOptions {
  return { verbosity: flags.verbosity.value, format: flags.logFormat.value === "json" ? "json" : "text" };
}

/** As the roles' configurations have it. */
export function flightOf({ flightRecorder, dumpDir }: CommonFlags) {
  return { flightRecorder: flightRecorder.value, dumpDir: dumpDir.value };
}

export function limitsOf(flags: CommonFlags): MemoryLimits {
  return {
    tunnelQueueBytes: flags.tunnelQueueBytes.value,
    processQueueBytes: flags.processQueueBytes.value,
    creditBudgetBytes: flags.creditBudgetBytes.value,
  };
}
