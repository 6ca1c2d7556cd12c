import { isIP } from "node:net";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { canonicalAddress, judgedHost, parseDestination, parseHost } from "./destination.js";

describe("the host of a destination", () => {
  test.each([
    ["10.0.0.1", "address", "10.0.0.1"],
    ["0.0.0.0", "address", "127.0.0.1"],
    ["::", "address", "::1"],
    ["0:0:0:0:0:0:0:0", "address", "::1"],
    ["::0.0.0.0", "address", "::1"],
    ["::0.0.0.1", "address", "::1"],
    ["::ffff:0.0.0.0", "address", "127.0.0.1"],
    ["::ffff:0:0", "address", "127.0.0.1"],
    ["::ffff:127.0.0.1", "address", "127.0.0.1"],
    ["::FFFF:a9fe:A9FE", "address", "169.254.169.254"],
    ["::ffff:127.0.0.1%lo", "address", "127.0.0.1"],
    ["FD00:0::1", "address", "fd00::1"],
    ["2001:db8:0:1:0:0:0:1", "address", "2001:db8:0:1::1"],
    ["2001:db8:0:1:1:1:1:1", "address", "2001:db8:0:1:1:1:1:1"],
    ["fe80::1%eth0", "address", "fe80::1%eth0"],
    ["fd00:ec2::254%eth0", "address", "fd00:ec2::254"],
    ["localhost", "name", "localhost"],
    ["Web.SVC.cluster.local.", "name", "web.svc.cluster.local."],
    ["_https._tcp.example", "name", "_https._tcp.example"],
    // Not addresses to Go, and so names; nobody asks a resolver about them (resolver/resolver.ts).
    ["0", "name", "0"],
    ["127.1", "name", "127.1"],
    ["0x7f.1", "name", "0x7f.1"],
    ["2130706433", "name", "2130706433"],
    ["127.0.0.01", "name", "127.0.0.01"],
    ["127.0.0.1.", "name", "127.0.0.1."],
    ["256.0.0.1", "name", "256.0.0.1"],
  ])("%s is the %s %s", (text, kind, canonical) => {
    expect(parseHost(text)).toEqual({ kind, text: canonical });
  });

  test.each([
    "",
    ".",
    "a..b",
    ".a",
    "a b",
    "a\0b",
    "127.0.0.1\0.svc.cluster.local",
    "a\n",
    "a%b",
    "127.0.0.1%lo",
    "ⓛocalhost",
    "bücher.example",
    "１２７.0.0.1",
    "a。b",
    "[::1]",
    "::1%",
    "fe80::1%a/b",
    "fe80::1%eth0%eth1",
    ":::",
    "1::2::3",
    "00001::",
    "::ffff:0x7f.0.0.1",
    "::ffff:127.1",
    "::ffff:127.0.0.01",
    "1:2:3:4:5:6:7::8",
    "1:2:3:4:5:6:7",
    `${"x".repeat(64)}.example`,
    `${"abcdefg.".repeat(32)}example`,
    "a/b",
    "user@a",
    "a*",
  ])("%j is none", (text) => {
    expect(parseHost(text)).toBeUndefined();
  });

  test("is an address exactly when inet_pton takes it, and its one form is an address with the same form", () => {
    const piece = fc.constantFrom(
      "0",
      "1",
      "00",
      "ffff",
      "FFFF",
      "127",
      "01",
      "255",
      "256",
      ":",
      "::",
      ".",
      "0x7f",
      "a",
    );
    const addresses = fc.oneof(
      fc.ipV4(),
      fc.ipV6(),
      fc.array(piece, { maxLength: 12 }).map((parts) => parts.join("")),
    );
    const property = fc.property(addresses, (text) => {
      const canonical = canonicalAddress(text);
      expect(canonical !== undefined).toBe(isIP(text) !== 0);
      if (canonical === undefined) return;
      expect(isIP(canonical)).not.toBe(0);
      expect(canonicalAddress(canonical)).toBe(canonical);
    });
    fc.assert(property, { numRuns: 20_000 });
  });

  test("of arbitrary text has nothing in it but what a host may have, and parses to itself", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (text) => {
      const host = parseHost(text);
      if (host === undefined) return;
      expect(host.text).toMatch(/^[a-z0-9._-]+$|^[0-9a-f:]+(%[A-Za-z0-9._-]+)?$/);
      expect(parseHost(host.text)).toEqual(host);
    });
    fc.assert(property, { numRuns: 5_000 });
  });

  test.each([
    ["a.example.", "a.example"],
    ["fe80::1%eth0", "fe80::1"],
    ["10.0.0.1", "10.0.0.1"],
  ])("%s is judged as %s", (host, judged) => {
    expect(judgedHost(host)).toBe(judged);
  });
});

describe("a destination", () => {
  test.each([
    ["10.0.0.1:443", "10.0.0.1:443"],
    ["10.0.0.1:0443", "10.0.0.1:443"],
    ["[10.0.0.1]:443", "10.0.0.1:443"],
    [":80", "127.0.0.1:80"],
    ["[::]:80", "[::1]:80"],
    ["[::ffff:10.0.0.1]:80", "10.0.0.1:80"],
    ["[FE80::1%eth0]:80", "[fe80::1%eth0]:80"],
    ["DB.example.:5432", "db.example.:5432"],
  ])("%s is sent as %s", (text, address) => {
    expect(parseDestination(text)).toMatchObject({ address });
  });

  test.each([
    ["a", "address a: missing port in address"],
    ["fd00::1:80", "address fd00::1:80: too many colons in address"],
    ["a\0b:80", /^lookup a.b: no such host \(a host is an IP address, or a name of ASCII letters/],
    ["ⓛocalhost:80", /^lookup ⓛocalhost: no such host \(/],
    [`${"a".repeat(299)}:1`, "the address is longer than 300 characters"],
    ["a:", "lookup tcp/: unknown port"],
    ["a:https", "lookup tcp/https: unknown port"],
    ["a:65536", "lookup tcp/65536: unknown port"],
    ["a:1e3", "lookup tcp/1e3: unknown port"],
  ])("%j is refused", (text, error) => {
    const parsed = parseDestination(text);
    if (!("error" in parsed)) throw new Error(`taken as ${parsed.address}`);
    if (typeof error === "string") expect(parsed.error).toBe(error);
    else expect(parsed.error).toMatch(error);
  });
});
