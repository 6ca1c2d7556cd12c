import { describe, expect, test } from "vitest";
import { parseResolvConf } from "./system-files.js";

const DEFAULTS = { search: [], ndots: 1, timeoutMs: 2_000, attempts: 2, rotate: false };
const at = (address: string, port = 53) => ({ address, port });

describe("resolv.conf", () => {
  test.each<[text: string, conf: object]>([
    ["", { ...DEFAULTS, servers: [at("127.0.0.1"), at("::1")] }],
    ["nameserver 10.96.0.10\n", { servers: [at("10.96.0.10")] }],
    ["  nameserver\tFD00::A # cluster\n;nameserver 10.0.0.1\n", { servers: [at("fd00::a")] }],
    ["nameserver fe80::1%eth0\nnameserver [10.0.0.1]:5353", { servers: [at("fe80::1%eth0"), at("10.0.0.1", 5353)] }],
    ["nameserver dns.example\nnameserver 10.0.0.1", { servers: [at("10.0.0.1")] }],
    ["nameserver 1.1.1.1\n".repeat(5), { servers: [at("1.1.1.1"), at("1.1.1.1"), at("1.1.1.1")] }],
    ["search a.example b.example.\n", { search: ["a.example", "b.example"] }],
    ["search a.example\ndomain c.example d.example", { search: ["c.example"] }],
    ["search .\n", { search: [] }],
    [
      "options ndots:5 timeout:3\noptions attempts:4 rotate edns0",
      { ndots: 5, timeoutMs: 3_000, attempts: 4, rotate: true },
    ],
    ["options ndots:99 timeout:0 attempts:0", { ndots: 15, timeoutMs: 1_000, attempts: 1 }],
    ["options ndots:x timeout: attempts:-1", DEFAULTS],
  ])("%j", (text, conf) => {
    expect(parseResolvConf(text, "node")).toMatchObject(conf);
  });

  test("without a search list, the host's own domain is searched", () => {
    expect(parseResolvConf("", "node.shop.example").search).toEqual(["shop.example"]);
  });
});
