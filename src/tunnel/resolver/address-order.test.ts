import { expect, test } from "vitest";
import { ordered } from "./resolver.js";

const FOUR = "10.0.0.1";
const [GLOBAL, LOCAL, LOOPBACK] = ["2001:4860::1", "fd00::1", "::1"];

test.each<[own: string[], found: string[], expected: string[]]>([
  [["10.9.9.9"], [FOUR, GLOBAL], [FOUR, GLOBAL]],
  [
    ["10.9.9.9", "2a00::9"],
    [FOUR, GLOBAL],
    [GLOBAL, FOUR],
  ],
  [
    ["10.9.9.9", "fd00::9"],
    [FOUR, GLOBAL, LOCAL],
    [LOCAL, FOUR, GLOBAL],
  ],
  [
    ["10.9.9.9", "fe80::9"],
    [GLOBAL, FOUR],
    [FOUR, GLOBAL],
  ],
  [
    ["127.0.0.1", "::1"],
    ["127.0.0.1", LOOPBACK],
    [LOOPBACK, "127.0.0.1"],
  ],
  [["127.0.0.1"], [LOOPBACK, "127.0.0.1"], ["127.0.0.1", LOOPBACK]],
  [["2a00::9"], ["10.0.0.2", FOUR], ["10.0.0.2", FOUR]],
])("a host with %j tries %j as %j", (own, found, expected) => {
  expect(ordered(found, () => own)).toEqual(expected);
});
