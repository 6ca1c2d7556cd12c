/** Flags that several long-running processes share: admin port, logs, memory limits, flight recorder. */
import { statSync } from "node:fs";
import { remedies } from "../../base/errors/catalogue.js";
import { causeFields, DrawbridgeError, messageOf } from "../../base/errors/error.js";
import type { LoggerOptions } from "../../base/log/log.js";
import type { MemoryLimits } from "../../tunnel/connection/budget.js";
import { type Flag, type Flags, filePath, inGroup, number, oneOf, type Values, yesNo } from "../flags/flag.js";
import { refused } from "../flags/parse.js";

export function loggingOf(flags: { readonly v: number; readonly logFormat: "text" | "json" }): LoggerOptions {
  return { verbosity: flags.v, format: flags.logFormat };
}

/** Marks in --help what upstream's executables do not know. */
export function ours<F extends Flags>(flags: F): F {
  const marked = Object.entries(flags).map(([name, flag]) => [name, { ...flag, usage: `drawbridge: ${flag.usage}` }]);
  return Object.fromEntries(marked) as unknown as F;
}

/** Errors of flags that do not fit together, behind upstream's own words. */
export function validated<T>(prefix: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const { remedy } = causeFields(error);
    throw new DrawbridgeError("DB_FLAG_VALUE", `${prefix} ${messageOf(error)}`, { cause: error, remedy });
  }
}

/**
 * Go's sentence for a file that is not there, undefined otherwise; an empty path is not looked at.
 * Any other problem (no permission, a folder) is reported, as upstream does, by the code that reads the file.
 */
export function missingFile(path: string): string | undefined {
  if (path === "") return undefined;
  try {
    statSync(path);
    return undefined;
  } catch (error) {
    const isAbsent = error instanceof Error && "code" in error && error.code === "ENOENT";
    return isAbsent ? `stat ${path}: no such file or directory` : undefined;
  }
}

/** A rule for flags: whether it is broken, what to say then, and what to do where that is not to correct a value. */
export type FlagRule = readonly [broken: boolean, sentence: string, remedy?: string];

/** Throws the sentence of the first rule that is broken. */
export function checkRules(rules: readonly FlagRule[]): void {
  for (const [broken, sentence, remedy] of rules) if (broken) throw refused(sentence, remedy);
}

/** The file must exist, with upstream's text. */
export function fileRule(what: string, path: string, remedy: string = remedies.DB_CERT_MISSING): FlagRule {
  const missing = missingFile(path);
  return [missing !== undefined, `error checking ${what} ${path}, got ${missing}`, remedy];
}

const MAKE_TOKEN =
  "Make it, a file of one line with a long random token, mode 0600, for example with openssl rand -hex 32; or correct --admin-token-file.";

/** A certificate and its key: each must exist, and neither comes alone; with upstream's texts. */
export const pairRules = (owner: string, cert: string, key: string): FlagRule[] => [
  fileRule(`${owner} key`, key),
  [key !== "" && cert === "", `cannot have ${owner} cert empty when ${owner} key is set to "${key}"`],
  fileRule(`${owner} cert`, cert),
  [cert !== "" && key === "", `cannot have ${owner} key empty when ${owner} cert is set to "${cert}"`],
];

/** Upstream's rule for profiling, which server and agent share. */
export const profilingRule = (flags: { enableProfiling: boolean; enableContentionProfiling: boolean }): FlagRule => [
  flags.enableContentionProfiling && !flags.enableProfiling,
  "if --enable-contention-profiling is set, --enable-profiling must also be set",
];

/** Token and certificate of the admin API, the same for every role. */
export const adminFlags = {
  "admin-token-file": filePath(
    "File with the bearer token that opens the admin API and the live page. If empty, the admin port serves metrics only.",
  ),
  ...inGroup("tls", {
    "admin-cert-file": filePath(
      "Certificate with which the admin port speaks TLS. If empty, the admin API is open on loopback only.",
    ),
    "admin-key-file": filePath("Key of --admin-cert-file."),
  }),
};

/** As the roles' configurations have it. Throws what the frame takes for misuse. */
export function adminAccessOf({ adminTokenFile, adminCertFile, adminKeyFile }: Values<typeof adminFlags>) {
  checkRules([
    fileRule("admin token file", adminTokenFile, MAKE_TOKEN),
    ...pairRules("admin", adminCertFile, adminKeyFile),
  ]);
  const tls = { certFile: adminCertFile, keyFile: adminKeyFile };
  return { tokenFile: adminTokenFile, ...(adminCertFile === "" ? {} : { tls }) };
}

export const logFormatFlag = (value: LoggerOptions["format"]) => ({
  "log-format": oneOf(["text", "json"], "Format of log lines.", value),
});

/** Accepted for compatibility: klog's flags, of which only the verbosity has an effect. */
function ignored(typeName: string, shownDefault?: string): Flag<string> {
  const kind = {
    typeName,
    read: (given: string) => given,
    showDefault: () => shownDefault,
    ...(typeName === "" && { withoutValue: "true" }),
  };
  return { kind, value: "", usage: "accepted for compatibility, no effect: logs go to stderr" };
}

const verbosity = number(4, "How much to log; a higher number logs more.");

/** The logging flags that every Kubernetes component accepts. */
const klogFlags = {
  ...inGroup("compatibility", {
    "add-dir-header": ignored(""),
    alsologtostderr: ignored(""),
    alsologtostderrthreshold: ignored("severity"),
    "legacy-stderr-threshold-behavior": ignored("", "true"),
    "log-backtrace-at": ignored("traceLocation", ":0"),
    "log-dir": ignored("string"),
    "log-file": ignored("string"),
    "log-file-max-size": ignored("uint", "1800"),
    logtostderr: ignored("", "true"),
    "one-output": ignored(""),
    "skip-headers": ignored(""),
    "skip-log-headers": ignored(""),
    stderrthreshold: ignored("severity", "2"),
    vmodule: ignored("moduleSpec"),
  }),
  v: { ...verbosity, kind: { ...verbosity.kind, typeName: "Level" }, shorthand: "v" },
};

const mebibytes = (value: number, usage: string) => number(value * 1024 * 1024, usage, { least: 1 });

/** Flags that server and agent share. */
export const commonFlags = {
  ...klogFlags,
  ...ours({
    ...logFormatFlag("text"),
    ...adminFlags,
    ...inGroup("advanced", {
      "tunnel-queue-bytes": mebibytes(4, "Bytes that may wait for one slow reader."),
      "process-queue-bytes": mebibytes(256, "Bytes that may wait for all slow readers together."),
      "credit-budget-bytes": mebibytes(128, "Bytes of extra flow-control window granted over all tunnels."),
      "flight-recorder": yesNo("Record the headers of the last 512 packets of each link, never their payload.", true),
      "dump-dir": filePath(
        "Folder for what the flight recorder holds when a path fails (server) or the process crashes. If empty, nothing is written.",
      ),
    }),
  }),
};

type CommonFlags = Values<typeof commonFlags>;

type CommonConfigFlags = CommonFlags & { readonly adminBindAddress: string; readonly enableProfiling: boolean };

/** The part of their configuration that server and agent share. */
export function commonConfigOf(flags: CommonConfigFlags, adminPort: number) {
  const { creditBudgetBytes, dumpDir, enableProfiling, flightRecorder, processQueueBytes, tunnelQueueBytes } = flags;
  checkRules([
    [dumpDir !== "" && !flightRecorder, "--dump-dir needs the flight recorder: leave --flight-recorder at true"],
    [processQueueBytes < tunnelQueueBytes, "--process-queue-bytes must be at least --tunnel-queue-bytes"],
  ]);
  const limits: MemoryLimits = { tunnelQueueBytes, processQueueBytes, creditBudgetBytes };
  const admin = { host: flags.adminBindAddress, port: adminPort, ...adminAccessOf(flags), profiling: enableProfiling };
  return { admin, limits, flightRecorder, dumpDir };
}
