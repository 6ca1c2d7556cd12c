/** The logging flags every Kubernetes component accepts. Only the verbosity has an effect here: we log to stderr. */

import type { Flag, FlagSet } from "./flag-set.js";
import { type FlagKind, goFlagBoolean, goFlagUnsigned, string } from "./flag-value.js";
import { parseInteger } from "./go-number.js";

const level: FlagKind<number> = {
  typeName: "Level",
  read: (text) => parseInteger(text, 10, 32),
  showDefault: (value) => (value === 0 ? undefined : String(value)),
};

const severities: readonly string[] = ["INFO", "WARNING", "ERROR", "FATAL"];

const severity: FlagKind<number> = {
  ...level,
  typeName: "severity",
  read: (text) => {
    const index = severities.indexOf(text.toUpperCase());
    return index >= 0 ? index : parseInteger(text, 10, 32);
  },
};

const moduleSpec: FlagKind<string> = {
  typeName: "moduleSpec",
  read: (text) => {
    const syntax = "syntax error: expect comma-separated list of filename=N";
    for (const pattern of text.split(",").filter((part) => part !== "")) {
      const number = /^[^=]+=([+-]?\d+)$/.exec(pattern)?.[1];
      if (number === undefined || Math.abs(Number(number)) > 2 ** 31 - 1) throw new Error(syntax);
      if (Number(number) < 0) throw new Error("negative value for vmodule level");
    }
    return text;
  },
  showDefault: () => undefined,
};

const traceLocation: FlagKind<string> = {
  typeName: "traceLocation",
  read: (text) => {
    if (text === "") return text;
    const line = /^[^:]*\.[^:]*:([+-]?\d+)$/.exec(text)?.[1];
    if (line === undefined) throw new Error("syntax error: expect file.go:234");
    if (Number(line) <= 0) throw new Error("negative or zero value for level");
    return text;
  },
  showDefault: () => ":0",
};

/** Returns the one flag that is obeyed. */
export function addKlogFlags(flags: FlagSet): { readonly verbosity: Flag<number> } {
  const ignored = "accepted for compatibility, no effect: logs go to stderr";
  flags.add("add-dir-header", goFlagBoolean, false, ignored);
  flags.add("alsologtostderr", goFlagBoolean, false, ignored);
  flags.add("alsologtostderrthreshold", severity, 0, ignored);
  flags.add("legacy-stderr-threshold-behavior", goFlagBoolean, true, ignored);
  flags.add("log-backtrace-at", traceLocation, "", ignored);
  flags.add("log-dir", string, "", ignored);
  flags.add("log-file", string, "", ignored);
  flags.add("log-file-max-size", goFlagUnsigned, 1800, ignored);
  flags.add("logtostderr", goFlagBoolean, true, ignored);
  flags.add("one-output", goFlagBoolean, false, ignored);
  flags.add("skip-headers", goFlagBoolean, false, ignored);
  flags.add("skip-log-headers", goFlagBoolean, false, ignored);
  flags.add("stderrthreshold", severity, 2, ignored);
  flags.add("vmodule", moduleSpec, "", ignored);
  const verbosity = flags.add("v", level, 4, "How much to log; a higher number logs more.", {
    shorthand: "v",
  });
  return { verbosity };
}
