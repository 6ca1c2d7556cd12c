import { expect, test } from "vitest";
import { hostNetwork } from "./host-network.js";

const answering = (answers: Readonly<Record<string, readonly [code: number, stdout: string, stderr?: string]>>) =>
  hostNetwork(async (argv) => {
    const [code, stdout, stderr = ""] = answers[argv.join(" ")] ?? [255, "", `not expected: ${argv.join(" ")}`];
    return { code, stdout, stderr };
  });

test("a route's source is its prefsrc, asked for in the destination's family", async () => {
  const host = answering({
    "ip -j -4 route get 1.1.1.1": [0, '[{"dst":"1.1.1.1","dev":"eth0","prefsrc":"10.0.0.5","flags":[]}]'],
    "ip -j -6 route get 2001:db8::1": [2, "", "RTNETLINK answers: Network is unreachable"],
    "ip -j -4 route get 10.0.0.1": [0, '[{"dst":"10.0.0.1","dev":"eth0"}]'],
    "ip -j -4 route get 10.0.0.2": [0, ""],
  });
  expect(await host.sourceTowards("1.1.1.1")).toBe("10.0.0.5");
  expect(await host.sourceTowards("2001:db8::1")).toBeUndefined();
  expect(await host.sourceTowards("10.0.0.1")).toBeUndefined();
  expect(await host.sourceTowards("10.0.0.2")).toBeUndefined();
});

test("addresses are those of global scope on interfaces that are up", async () => {
  const link = (ifname: string, flags: string[], ...addr_info: object[]) => ({ ifname, flags, addr_info });
  const global = { family: "inet", local: "10.0.0.5", prefixlen: 24, scope: "global" };
  const vip = {
    ...global,
    local: "10.0.0.9",
    prefixlen: 32,
    label: "eth0:vip",
    secondary: true,
    protocol: "keepalived",
  };
  const lease = { family: "inet6", local: "fd00::5", prefixlen: 128, scope: "global", dynamic: true };
  const reported = [
    link("lo", ["LOOPBACK", "UP"], { family: "inet", local: "127.0.0.1", prefixlen: 8, scope: "host" }),
    link("eth0", ["UP"], global, vip, lease, { family: "inet6", local: "fe80::1", prefixlen: 64, scope: "link" }),
    link("eth1", ["BROADCAST"], { ...global, local: "10.9.0.5" }),
    {},
  ];
  const host = answering({ "ip -j address show": [0, JSON.stringify(reported)] });
  expect(await host.globalAddresses()).toEqual([
    {
      device: "eth0",
      address: "10.0.0.5",
      family: 4,
      prefixLength: 24,
      marks: new Set(),
      label: undefined,
      origin: undefined,
    },
    {
      ...{ device: "eth0", address: "10.0.0.9", family: 4, prefixLength: 32 },
      ...{ marks: new Set(["secondary"]), label: "eth0:vip", origin: "keepalived" },
    },
    {
      ...{ device: "eth0", address: "fd00::5", family: 6, prefixLength: 128 },
      ...{ marks: new Set(["dynamic"]), label: undefined, origin: undefined },
    },
  ]);
});

test.each([
  [[1, "", 'ip: unrecognized option "j"\nmore'] as const, 'ip: unrecognized option "j"'],
  [[0, "1: lo: <LOOPBACK,UP>"] as const, "its answer is not JSON"],
  [[2, "", "Cannot open netlink socket"] as const, "Cannot open netlink socket"],
])("an ip command that fails is distinguished from a host without addresses: %j", async (answer, why) => {
  const asked = answering({ "ip -j address show": answer }).globalAddresses();
  await expect(asked).rejects.toMatchObject({
    code: "DB_ADDRESS_LOOKUP",
    message: `ip -j address show cannot be used: ${why}`,
  });
});

test("a missing ip command gives one sentence", async () => {
  const path = process.env.PATH;
  process.env.PATH = "/nowhere";
  try {
    await expect(hostNetwork().globalAddresses()).rejects.toMatchObject({
      code: "DB_ADDRESS_LOOKUP",
      message: expect.stringContaining("the program ip cannot be run: spawn ip ENOENT"),
    });
  } finally {
    process.env.PATH = path;
  }
});
