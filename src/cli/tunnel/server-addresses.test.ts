import { expect, test } from "vitest";
import { parseServerAddresses } from "./addresses.js";

test.each([
  ["konnectivity.example", { host: "konnectivity.example", port: 8091 }],
  ["10.0.0.1", { host: "10.0.0.1", port: 8091 }],
  ["10.0.0.1:443", { host: "10.0.0.1", port: 443 }],
  ["fd00::1", { host: "fd00::1", port: 8091 }],
  ["[fd00::1]", { host: "fd00::1", port: 8091 }],
  ["[fd00::1]:443", { host: "fd00::1", port: 443 }],
  ["fe80::1%eth0", { host: "fe80::1%eth0", port: 8091 }],
])("%s", (text, server) => {
  expect(parseServerAddresses([text], 8091)).toEqual([server]);
});

test("the same server is kept once", () => {
  expect(parseServerAddresses(["a", "a:8091", "b"], 8091)).toHaveLength(2);
});

test.each(["https://a", "a:b", "a:0", "a:65536", ":443", "a b", "[]", "[a]", "[fd00::1", "a:1:2", "user@a", "a/b"])(
  "%j is refused",
  (text) => {
    expect(() => parseServerAddresses([text], 8091)).toThrow(`proxy server host "${text}" must be a host or host:port`);
  },
);

test("an empty host is refused: upstream would dial itself", () => {
  expect(() => parseServerAddresses(["a", ""], 8091)).toThrow("proxy server host cannot be empty");
});
