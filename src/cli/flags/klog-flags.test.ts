import { expect, test } from "vitest";
import { FlagSet } from "./flag-set.js";
import { addKlogFlags } from "./klog-flags.js";

function verbosityOf(...argv: string[]): number {
  const set = new FlagSet();
  const { verbosity } = addKlogFlags(set);
  set.parse(argv);
  return verbosity.value;
}

test("the verbosity is 4 unless told", () => {
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
  ["--v=99999999999", "value out of range"],
  ["--v=0x4", "invalid syntax"],
  ["--logtostderr=maybe", 'invalid argument "maybe" for "--logtostderr" flag: parse error'],
  ["--log-file-max-size=-1", 'invalid argument "-1" for "--log-file-max-size" flag: parse error'],
  ["--log-file-max-size=18446744073709551616", "flag: value out of range"],
  ["--stderrthreshold=LOUD", 'strconv.ParseInt: parsing "LOUD": invalid syntax'],
  ["--vmodule=x", "syntax error: expect comma-separated list of filename=N"],
  ["--vmodule=x=-1", "negative value for vmodule level"],
  ["--log-backtrace-at=x", "syntax error: expect file.go:234"],
  ["--log-backtrace-at=a.go:0", "negative or zero value for level"],
])("%s is refused", (argument, message) => {
  expect(() => verbosityOf(argument)).toThrow(message);
});
