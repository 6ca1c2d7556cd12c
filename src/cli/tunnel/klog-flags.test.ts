import { expect, test } from "vitest";
import { parseFlags } from "../flags/parse.js";
import { commonFlags } from "./process-flags.js";

const verbosityOf = (...argv: string[]): number => parseFlags(commonFlags, argv).values.v;

test("the verbosity is 4 unless --v says otherwise", () => {
  expect(verbosityOf()).toBe(4);
  expect(verbosityOf("-v2")).toBe(2);
  expect(verbosityOf("--v", "9")).toBe(9);
});

test.each([
  "--add-dir-header",
  "--alsologtostderr=true",
  "--alsologtostderrthreshold=1",
  "--legacy-stderr-threshold-behavior=false",
  "--log-backtrace-at=main.go:12",
  "--log-backtrace-at=",
  "--log-dir=/var/log",
  "--log-file=/var/log/konnectivity.log",
  "--log-file-max-size=0",
  "--logtostderr=true",
  "--one-output",
  "--skip-headers",
  "--skip-log-headers",
  "--stderrthreshold=WARNING",
  "--stderrthreshold=2",
  "--vmodule=client=5,serv*=2,",
])("%s is accepted", (argument) => {
  expect(verbosityOf(argument)).toBe(4);
});

test.each([
  ["--v=99999999999999999999", "value out of range"],
  ["--v=abc", "invalid syntax"],
])("%s is refused", (argument, message) => {
  expect(() => verbosityOf(argument)).toThrow(message);
});
