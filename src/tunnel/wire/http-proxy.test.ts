import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHost } from "./destination.js";
import { endToEndHeaders, parseAuthority, parseRequestTarget, withoutHeader } from "./http-proxy.js";

describe("an authority", () => {
  test.each([
    ["example.com:443", { host: "example.com", port: 443 }],
    ["example.com", { host: "example.com", port: 80 }],
    ["example.com:", { host: "example.com", port: 80 }],
    ["[fd00::1]:443", { host: "fd00::1", port: 443 }],
    ["[fd00::1]", { host: "fd00::1", port: 80 }],
    ["Example.COM.:443", { host: "example.com.", port: 443 }],
    ["[::FFFF:10.0.0.1]:443", { host: "10.0.0.1", port: 443 }],
    ["0.0.0.0:443", { host: "127.0.0.1", port: 443 }],
    ["a%41:443", undefined],
    ["a\0b:443", undefined],
    ["ⓛocalhost:443", undefined],
    ["", undefined],
    [":443", undefined],
    ["a:0", undefined],
    ["a:65536", undefined],
    ["a:b", undefined],
    ["fd00::1", undefined],
    ["[a b]:1", undefined],
    ["a b:1", undefined],
    ["user@a:1", undefined],
    ["a/b:1", undefined],
    ["ä:1", undefined],
  ])("%j is %j", (text, authority) => {
    expect(parseAuthority(text, 80)).toEqual(authority);
  });

  test("from arbitrary text never lets anything out of a request line", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (text) => {
      const authority = parseAuthority(text, 80);
      if (authority !== undefined) expect(parseHost(authority.host)?.text).toBe(authority.host);
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});

describe("a request target", () => {
  const absolute = (host: string, port: number, hostHeader: string, path: string) => ({
    kind: "absolute",
    authority: { host, port },
    hostHeader,
    path,
  });

  test.each([
    ["http://a.example/x?y#z", absolute("a.example", 80, "a.example", "/x?y")],
    ["HTTP://a.example:81", absolute("a.example", 81, "a.example:81", "/")],
    ["http://a.example?q", absolute("a.example", 80, "a.example", "/?q")],
    ["ws://[fd00::1]:81/x", absolute("fd00::1", 81, "[fd00::1]:81", "/x")],
    ["/x", { kind: "origin" }],
    ["*", { kind: "origin" }],
  ])("%s", (text, target) => {
    expect(parseRequestTarget(text)).toEqual(target);
  });

  test.each(["a.example:443", "https://a.example/", "http://u:p@a.example/", "http:///x", "http://a:b/", "x"])(
    "%s is not forwarded",
    (text) => {
      expect(parseRequestTarget(text)).toMatchObject({ kind: "unusable" });
    },
  );
});

describe("headers of a forwarded request", () => {
  test("for the next hop stay behind, with those that Connection names", () => {
    const headers = ["Connection", "close, X-Hop", "X-Hop", "1", "X-End", "2", "x-end", "3", "TE", "trailers"];
    headers.push(
      "Proxy-Connection",
      "keep-alive",
      "Transfer-Encoding",
      "chunked",
      "Trailer",
      "X-Sum",
      "connection",
      "x-last",
    );
    headers.push("X-Last", "4");
    expect(endToEndHeaders(headers)).toEqual(["X-End", "2", "x-end", "3", "Trailer", "X-Sum"]);
  });

  test("can be left out by name", () => {
    expect(withoutHeader(["HOST", "a", "X", "b", "host", "c"], "host")).toEqual(["X", "b"]);
  });
});
