import { expect, test } from "vitest";
import { commandLine } from "../../cluster/bootstrap/settings/programs.js";
import { adminPortOf, healthPortOf, isProgram, type ProgramKind, programs } from "./programs.js";

test.each<[string[], ProgramKind[]]>([
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
])("the command line %j is recognised as %j", (words, expected) => {
  expect(programs.filter((program) => isProgram(program, words))).toEqual(expected);
});

const running = (...words: string[]) => ({ ...commandLine("process 7", words), pid: 7, others: [], words });

test.each<[ProgramKind, string[], string | undefined, string | undefined]>([
  ["server", ["proxy-server"], "127.0.0.1:8092", "127.0.0.1:8095"],
  ["agent", ["proxy-agent", "--health-server-port=2042"], "127.0.0.1:2042", "127.0.0.1:8094"],
  ["agent", ["proxy-agent", "--admin-bind-address=10.0.0.7"], "127.0.0.1:8093", "10.0.0.7:8094"],
  ["sidecar", ["drawbridge", "sidecar", "--admin-port", "9"], "127.0.0.1:8095", "127.0.0.1:9"],
  ["sidecar", ["/konnectivity-socks5-proxy", "run"], undefined, undefined],
  ["ignition", ["drawbridge", "ignition", "serve"], "127.0.0.1:8080", undefined],
  ["ignition", ["drawbridge", "ignition", "serve", "--admin-addr=[::1]:7"], "127.0.0.1:8080", "[::1]:7"],
  ["nodepool", ["drawbridge", "nodepool", "controller"], undefined, undefined],
  ["approver", ["drawbridge", "csr", "approver", "--health-port=5"], "127.0.0.1:5", undefined],
])("%s started as %j has its health port at %s and its admin port at %s", (program, words, health, admin) => {
  expect(healthPortOf(program, running(...words))?.text).toBe(health);
  expect(adminPortOf(program, running(...words))?.text).toBe(admin);
});
