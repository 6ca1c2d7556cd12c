/** A million inputs to what the sidecar reads from strangers: a result or a clean refusal, never anything else. */
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { endToEndHeaders, parseAuthority, parseRequestTarget } from "./http-proxy.js";
import { parseSocks5Greeting, parseSocks5Request } from "./socks5.js";

const RUNS = 1_000_000;
const HARMLESS = /^[\x21-\x7e]+$/;

/** Almost a request, so that most inputs get past the first bytes. */
const request = fc
  .tuple(fc.constantFrom(0, 1, 2, 3, 4), fc.constantFrom(1, 3, 4, 9), fc.uint8Array({ maxLength: 270 }))
  .map(([command, type, rest]) => Uint8Array.of(5, command, 0, type, ...rest));

describe("a million random inputs", () => {
  test("to the SOCKS5 grammar", () => {
    const property = fc.property(fc.oneof(fc.uint8Array({ maxLength: 300 }), request), (bytes) => {
      const greeting = parseSocks5Greeting(bytes);
      if (greeting?.kind === "greeting") expect(greeting.bytes).toBeLessThanOrEqual(bytes.length);
      const asked = parseSocks5Request(bytes);
      if (asked?.kind !== "connect") return;
      expect(asked.host).toMatch(HARMLESS);
      expect(asked.bytes).toBeLessThanOrEqual(bytes.length);
    });
    fc.assert(property, { numRuns: RUNS });
  });

  test("to the HTTP proxy's grammar", () => {
    const text = fc.oneof(fc.string({ unit: "binary" }), fc.webUrl(), fc.stringMatching(/^http:\/\/[^/]*\/.*$/));
    const property = fc.property(text, fc.array(fc.string()), (target, headers) => {
      const authority = parseAuthority(target, 80);
      if (authority !== undefined) expect(authority.host).toMatch(HARMLESS);
      const asked = parseRequestTarget(target);
      if (asked.kind === "absolute") expect(asked.authority.host).toMatch(HARMLESS);
      expect(endToEndHeaders(headers).length).toBeLessThanOrEqual(headers.length);
    });
    fc.assert(property, { numRuns: RUNS });
  });
});
