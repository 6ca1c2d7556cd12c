/** NO_PROXY as we read it and as Go reads it, over everything that either could see differently. */
import { spawnSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { requirePeer } from "../../peers/index.js";
import { bypassesProxy } from "../../src/tunnel/wire/no-proxy.js";

const LISTS = [
  "",
  ",",
  " , ,",
  "*",
  "a.example,*",
  "* ,a.example",
  "*.",
  "**",
  "*example.com",
  "example.com",
  "EXAMPLE.com",
  " example.com ",
  ".example.com",
  "*.example.com",
  "*.Example.com",
  "..example.com",
  "example.com.",
  "com",
  ".com",
  ".",
  "example.com:443",
  "example.com:8443",
  "example.com:0443",
  "example.com:https",
  "example.com:",
  ".example.com:443",
  "*.example.com:8443",
  ":443",
  "localhost",
  "other.test",
  "other.test,example.com:8443,10.1.2.3",
  "10.1.2.3",
  "10.1.2.3:443",
  "10.1.2.3:8443",
  "010.1.2.3",
  "10.1.2",
  "2.3",
  ".2.3",
  "0x0a.1.2.3",
  "10.0.0.0/8",
  "10.1.2.3/8",
  "10.0.0.0/33",
  "10.0.0.0/08",
  "10.0.0.0/",
  "10/8",
  "10.0.0.0/8:443",
  "0.0.0.0/0",
  "::/0",
  "::ffff:10.0.0.0/104",
  "::ffff:10.0.0.0/90",
  "127.0.0.0/8",
  "fd00::1",
  "FD00::1",
  "fd00:0:0::1",
  "[fd00::1]",
  "[fd00::1]:443",
  "[fd00::1]:8443",
  "[[fd00::1]]:443",
  "fd00::/8",
  "fd00::/129",
  "[fd00::]/8",
  "fe80::1%eth0",
  "::ffff:10.1.2.3",
  "bücher.example",
  ".bücher.example",
  "*.BÜCHER.example:443",
  "xn--bcher-kva.example",
  "日本.example",
  "a_b.example",
  "exa mple.com",
  "[",
  "]",
  "[]:443",
  "%",
];

const HOSTS = [
  "example.com",
  "Example.COM",
  "www.example.com",
  "a.b.example.com",
  "badexample.com",
  "example.com.",
  "example.com.evil.test",
  "com",
  "localhost",
  "LOCALHOST",
  "localhost.",
  "foo.localhost",
  "127.0.0.1",
  "127.9.9.9",
  "::1",
  "::ffff:127.0.0.1",
  "::1%lo",
  "10.1.2.3",
  "010.1.2.3",
  "11.1.2.3",
  "::ffff:10.1.2.3",
  "fd00::1",
  "FD00:0::1",
  "fd00::2",
  "fe80::1%eth0",
  "fe80::1",
  "0.0.0.0",
  "bücher.example",
  "www.BÜCHER.example",
  "xn--bcher-kva.example",
  "www.xn--bcher-kva.example",
  "日本.example",
  "a_b.example",
  "x.a_b.example",
  "10.1.2",
  "2.3",
];

const PORTS = ["443", "8443", "80"];

const questions = LISTS.flatMap((noProxy) => HOSTS.flatMap((host) => PORTS.map((port) => ({ noProxy, host, port }))));

const peer = requirePeer("no-proxy");

describe.skipIf(peer === undefined)("NO_PROXY", () => {
  test("means to us what it means to Go", () => {
    const run = spawnSync(peer!, { input: JSON.stringify(questions), encoding: "utf8", maxBuffer: 1 << 24 });
    expect({ status: run.status, stderr: run.stderr }).toEqual({ status: 0, stderr: "" });
    const go = JSON.parse(run.stdout) as boolean[];
    const differences = questions.flatMap(({ noProxy, host, port }, index) => {
      const ours = bypassesProxy(noProxy, host, Number(port));
      return ours === go[index] ? [] : [`NO_PROXY=${noProxy} ${host}:${port}: Go says ${go[index]}, we say ${ours}`];
    });
    expect(differences).toEqual([]);
    // The matrix is of no use if nearly everything falls on one side.
    expect(go.filter(Boolean).length / go.length).toBeGreaterThan(0.2);
    expect(go.filter((past) => !past).length / go.length).toBeGreaterThan(0.2);
  });
});
