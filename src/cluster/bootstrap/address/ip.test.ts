import { expect, test } from "vitest";
import { canonical, familyOf, parseNetwork } from "./ip.js";

test.each([
  ["10.0.0.1", 4],
  ["2001:DB8::1", 6],
  ["fe80::1%eth0", undefined],
  ["010.0.0.1", undefined],
  ["10.1", undefined],
  ["[::1]", undefined],
  ["", undefined],
])("%s is of family %s", (text, family) => expect(familyOf(text)).toBe(family));

test("one address has one spelling", () => expect(canonical("2001:DB8:0:0::01")).toBe("2001:db8::1"));

test.each([
  ["10.0.0.0/16", "10.0.0.0/16", "10.0.0.1"],
  ["10.0.7.9/16", "10.0.0.0/16", "10.0.0.1"],
  ["192.168.66.128/25", "192.168.66.128/25", "192.168.66.129"],
  ["10.0.0.4/31", "10.0.0.4/31", "10.0.0.4"],
  ["10.0.0.4/32", "10.0.0.4/32", "10.0.0.4"],
  ["0.0.0.0/0", "0.0.0.0/0", "0.0.0.1"],
  ["fd00:1::/48", "fd00:1::/48", "fd00:1::1"],
  ["fd00:1::ff/123", "fd00:1::e0/123", "fd00:1::e1"],
])("%s is the network %s whose first host is %s", (text, network, first) => {
  const prefix = parseNetwork(text);
  expect(prefix).toMatchObject({ text: network, firstHost: first });
  expect(prefix?.contains(first)).toBe(true);
});

test.each(["10.0.0.0", "10.0.0.0/33", "fd00::/129", "10.0.0.0/", "10.0.0.0/8/8", "nodes/24", "10.0.0.0/-1"])(
  "%s is no prefix",
  (text) => expect(parseNetwork(text)).toBeUndefined(),
);

test("a prefix holds its own family and nothing beyond its edges", () => {
  const prefix = parseNetwork("10.0.0.0/23");
  expect(["10.0.0.0", "10.0.1.255", "10.0.2.0", "9.255.255.255", "::10.0.0.1"].map((a) => prefix?.contains(a))).toEqual(
    [true, true, false, false, false],
  );
});
