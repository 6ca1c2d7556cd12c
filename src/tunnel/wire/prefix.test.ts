import { expect, test } from "vitest";
import { covers, parseAddress, parsePrefix } from "./prefix.js";

test.each([
  ["10.0.0.0/8", "10.1.2.3", true],
  ["10.0.0.0/8", "11.1.2.3", false],
  ["10.0.0.1", "10.0.0.1", true],
  ["fd00::/8", "fd12::1", true],
  ["fd00::/8", "10.1.2.3", false],
  // An IPv4 network written as IPv6 is the IPv4 network, as in Go's net.ParseCIDR.
  ["::ffff:10.0.0.0/104", "10.1.2.3", true],
  ["::ffff:10.0.0.0/104", "11.1.2.3", false],
])("whether the prefix %s covers %s is %s", (prefix, address, expected) => {
  expect(covers(parsePrefix(prefix)!, parseAddress(address)!)).toBe(expected);
});

test.each(["", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/8/9", "10.0.0/8", "010.0.0.0/8", "fd00::/129", "a/8"])(
  "%j is no prefix",
  (text) => expect(parsePrefix(text)).toBeUndefined(),
);
