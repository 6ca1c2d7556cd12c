import { expect, test } from "vitest";
import { commandLine } from "../../cluster/bootstrap/settings/command-line.js";
import { adminPortOf, healthPortOf } from "./own-port.js";
import type { Program } from "./program.js";

const running = (...words: string[]) => ({ ...commandLine("process 7", words), pid: 7, words });

test.each<[Program, string[], string | undefined, string | undefined]>([
  ["server", ["proxy-server"], "127.0.0.1:8092", "127.0.0.1:8095"],
  ["agent", ["proxy-agent", "--health-server-port=2042"], "127.0.0.1:2042", "127.0.0.1:8094"],
  ["agent", ["proxy-agent", "--admin-bind-address=10.0.0.7"], "127.0.0.1:8093", "10.0.0.7:8094"],
  ["sidecar", ["drawbridge", "sidecar", "--admin-port", "9"], "127.0.0.1:8095", "127.0.0.1:9"],
  ["sidecar", ["/konnectivity-socks5-proxy", "run"], undefined, undefined],
  ["ignition", ["drawbridge", "ignition", "serve"], "127.0.0.1:8080", undefined],
  ["ignition", ["drawbridge", "ignition", "serve", "--admin-addr=[::1]:7"], "127.0.0.1:8080", "[::1]:7"],
  ["nodepool", ["drawbridge", "nodepool", "controller"], undefined, undefined],
  ["approver", ["drawbridge", "csr", "approver", "--health-port=5"], "127.0.0.1:5", undefined],
])("%s %j: health at %s, admin at %s", (program, words, health, admin) => {
  expect(healthPortOf(program, running(...words))?.text).toBe(health);
  expect(adminPortOf(program, running(...words))?.text).toBe(admin);
});
