import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseHost } from "./destination.js";
import { parseSocks5Greeting, parseSocks5Request, SOCKS5_REPLY, socks5MethodChoice, socks5Reply } from "./socks5.js";

const bytes = (...parts: (number | string)[]): Uint8Array =>
  Uint8Array.from(parts.flatMap((part) => (typeof part === "number" ? [part] : [...Buffer.from(part, "latin1")])));

describe("a SOCKS5 greeting", () => {
  test.each([
    [bytes(5, 1, 0), { kind: "greeting", offersNone: true, bytes: 3 }],
    [bytes(5, 2, 2, 0, 99), { kind: "greeting", offersNone: true, bytes: 4 }],
    [bytes(5, 1, 2), { kind: "greeting", offersNone: false, bytes: 3 }],
    [bytes(5, 0), { kind: "greeting", offersNone: false, bytes: 2 }],
    [bytes(4, 1), { kind: "other-protocol" }],
    [bytes("G"), { kind: "other-protocol" }],
    [bytes(5, 3, 0), undefined],
    [bytes(5), undefined],
    [bytes(), undefined],
  ])("%j is %j", (said, greeting) => {
    expect(parseSocks5Greeting(said)).toEqual(greeting);
  });
});

describe("a SOCKS5 request", () => {
  test.each([
    [bytes(5, 1, 0, 1, 10, 0, 0, 7, 1, 187), "10.0.0.7", 443, 10],
    [bytes(5, 1, 0, 3, 11, "example.com", 0, 80, "rest"), "example.com", 80, 18],
    [bytes(5, 1, 0, 3, 5, "[::1]", 0, 80), "::1", 80, 12],
    [bytes(5, 1, 0, 4, 0xfd, ...new Array(14).fill(0), 1, 0, 80), "fd00::1", 80, 22],
    [bytes(5, 1, 0, 4, ...new Array(10).fill(0), 255, 255, 10, 0, 0, 7, 0, 80), "10.0.0.7", 80, 22],
    [bytes(5, 1, 0, 1, 0, 0, 0, 0, 0, 80), "127.0.0.1", 80, 10],
    [bytes(5, 1, 0, 4, ...new Array(16).fill(0), 0, 80), "::1", 80, 22],
    [bytes(5, 1, 0, 3, 12, "Example.COM.", 0, 80), "example.com.", 80, 19],
    [bytes(5, 1, 99, 1, 10, 0, 0, 7, 0, 80), "10.0.0.7", 80, 10],
  ])("%j", (said, host, port, length) => {
    expect(parseSocks5Request(said)).toEqual({ kind: "connect", host, port, bytes: length });
  });

  test.each([
    ["BIND", bytes(5, 2), SOCKS5_REPLY.commandNotSupported],
    ["an unknown address type", bytes(5, 1, 0, 9), SOCKS5_REPLY.addressTypeNotSupported],
    ["port 0", bytes(5, 1, 0, 1, 10, 0, 0, 7, 0, 0), SOCKS5_REPLY.generalFailure],
    ["a name that would break out of a request line", bytes(5, 1, 0, 3, 3, "a b", 0, 80), SOCKS5_REPLY.generalFailure],
    ["a name with a percent sign", bytes(5, 1, 0, 3, 4, "a%41", 0, 80), SOCKS5_REPLY.generalFailure],
    ["a name with an empty label", bytes(5, 1, 0, 3, 4, "a..b", 0, 80), SOCKS5_REPLY.generalFailure],
    ["a name with NUL", bytes(5, 1, 0, 3, 2, "a", 0, 0, 80), SOCKS5_REPLY.generalFailure],
    ["a name beyond ASCII", bytes(5, 1, 0, 3, 2, 0xc3, 0xa4, 0, 80), SOCKS5_REPLY.generalFailure],
  ])("for %s is answered as soon as that is known", (_what, said, reply) => {
    expect(parseSocks5Request(said)).toMatchObject({ kind: "unusable", reply });
  });

  test("is complete with its last byte, whatever follows", () => {
    const host = fc.oneof(
      fc.ipV4().map((text) => bytes(1, ...text.split(".").map(Number))),
      fc.uint8Array({ minLength: 16, maxLength: 16 }).map((address) => bytes(4, ...address)),
      fc.stringMatching(/^[a-z0-9-]{1,63}(\.[a-z0-9-]{1,63}){0,2}\.?$/).map((name) => bytes(3, name.length, name)),
    );
    const property = fc.property(host, fc.integer({ min: 1, max: 65_535 }), fc.uint8Array(), (address, port, rest) => {
      const request = bytes(5, 1, 0, ...address, port >> 8, port & 255);
      for (let cut = 0; cut < request.length; cut++)
        expect(parseSocks5Request(request.subarray(0, cut))).toBeUndefined();
      const whole = parseSocks5Request(request);
      expect(whole).toMatchObject({ kind: "connect", port, bytes: request.length });
      expect(parseSocks5Request(bytes(...request, ...rest))).toEqual(whole);
    });
    fc.assert(property, { numRuns: 200 });
  });

  test("of arbitrary bytes is understood, refused or waited for, never longer than its largest size", () => {
    const property = fc.property(fc.uint8Array({ maxLength: 300 }), (tail) => {
      const request = parseSocks5Request(bytes(5, 1, 0, ...tail));
      if (request?.kind === "connect") expect(parseHost(request.host)?.text).toBe(request.host);
      if (tail.length >= 259) expect(request).toBeDefined();
    });
    fc.assert(property, { numRuns: 2_000 });
  });
});

describe("the answer to a SOCKS5 request", () => {
  test("says where our end is, or that it does not matter", () => {
    expect([...socks5MethodChoice(0xff)]).toEqual([5, 0xff]);
    expect([...socks5Reply(5)]).toEqual([5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
    expect([...socks5Reply(0, { localAddress: "10.1.2.3", localPort: 258 })]).toEqual([5, 0, 0, 1, 10, 1, 2, 3, 1, 2]);
    expect(socks5Reply(0, { localAddress: "fd00::1", localPort: 1 })).toHaveLength(22);
    expect([...socks5Reply(0, { localAddress: "/run/a.sock", localPort: 1 })]).toEqual([5, 0, 0, 1, 0, 0, 0, 0, 0, 0]);
  });
});
