import { expect, test } from "vitest";
import { isProgram, type Program, programs } from "./program.js";

test.each<[string[], Program[]]>([
  [["/usr/bin/proxy-agent", "--x"], ["agent"]],
  [["node", "/x/bin/proxy-agent"], ["agent"]],
  [["/usr/bin/drawbridge", "agent"], ["agent"]],
  [["/usr/bin/drawbridge", "server"], ["server"]],
  [["node", "/x/bin/drawbridge", "sidecar", "--frontend=x"], ["sidecar"]],
  [["/konnectivity-socks5-proxy", "run"], ["sidecar"]],
  [["node", "/x/konnectivity-https-proxy"], ["sidecar"]],
  [["node", "/x/drawbridge", "konnectivity-https-proxy"], ["sidecar"]],
  [["node", "/x/drawbridge", "ignition", "serve"], ["ignition"]],
  [["drawbridge", "ignition", "validate", "serve"], []],
  [["drawbridge", "nodepool", "controller"], ["nodepool"]],
  [["drawbridge", "nodepool", "status"], []],
  [["node", "/x/drawbridge", "csr", "approver", "--dry-run"], ["approver"]],
  [["drawbridge", "doctor", "--role", "sidecar"], []],
  [["grep", "-rn", "x", "proxy-agent"], []],
  [["vi", "sidecar"], []],
])("%j is %j", (words, expected) => {
  expect(programs.filter((program) => isProgram(program, words))).toEqual(expected);
});
