import { describe, expect, test } from "vitest";
import { bypassesProxy } from "./no-proxy.js";

/** What test/interop/no-proxy.test.ts compares with Go is not repeated here beyond one of each kind. */
describe("NO_PROXY", () => {
  test.each([
    ["", "localhost", 443, true],
    ["", "127.0.0.7", 443, true],
    ["", "::1", 443, true],
    ["", "::ffff:127.0.0.1", 443, true],
    ["", "example.com", 443, false],
    ["*", "example.com", 443, true],
    ["*", "10.1.2.3", 443, true],
    ["example.com", "example.com", 443, true],
    ["example.com", "api.example.com", 443, true],
    ["example.com", "badexample.com", 443, false],
    [".example.com", "example.com", 443, false],
    [".example.com", "api.example.com", 443, true],
    ["*.example.com", "example.com", 443, false],
    ["*.example.com", "api.example.com", 443, true],
    ["EXAMPLE.com", "Example.COM", 443, true],
    ["example.com", "example.com.", 443, false],
    ["10.0.0.0/8", "10.1.2.3", 443, true],
    ["10.0.0.0/8", "11.1.2.3", 443, false],
    ["10.0.0.0/8", "::ffff:10.1.2.3", 443, true],
    ["10.0.0.0/8", "ten.example.com", 443, false],
    ["fd00::/8", "fd00::1", 443, true],
    ["10.1.2.3", "10.1.2.3", 443, true],
    ["2.3", "10.1.2.3", 443, false],
    ["010.1.2.3", "8.1.2.3", 443, false],
    ["example.com:8443", "example.com", 443, false],
    ["a, example.com:443 ,b", "example.com", 443, true],
    [":443", "example.com", 443, false],
    ["10.0.0.0/99", "10.1.2.3", 443, false],
    ["[fd00::1]:443", "fd00::1", 443, true],
    ["fd00::1", "fd00:0::1", 8443, true],
    ["bücher.example", "www.xn--bcher-kva.example", 443, true],
    [".xn--bcher-kva.example", "www.Bücher.example", 443, true],
  ])("NO_PROXY=%s and %s:%i: %s", (noProxy, host, port, expected) => {
    expect(bypassesProxy(noProxy, host, port)).toBe(expected);
  });
});
