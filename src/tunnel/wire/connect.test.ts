import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { methodNotAllowed, parseConnectRequest } from "./connect.js";

const parse = (text: string) => parseConnectRequest(Buffer.from(text, "latin1"));

describe("CONNECT grammar", () => {
  test("takes the target from the request line, never from Host", () => {
    const head = "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1\r\nUser-Agent: kas\r\n\r\n";
    expect(parse(`${head}early`)).toEqual({
      kind: "connect",
      target: "10.0.0.1:443",
      dialId: undefined,
      wantsAlert: false,
      headBytes: head.length,
    });
  });

  test("sees whether the caller wants an alert when its stream is cut", () => {
    expect(parse("CONNECT a:1 HTTP/1.1\r\nX-Drawbridge-Cut: alert\r\n\r\n")).toMatchObject({ wantsAlert: true });
    expect(parse("CONNECT a:1 HTTP/1.1\r\n\r\nX\nX-Drawbridge-Cut: alert\r\n")).toMatchObject({ wantsAlert: false });
  });

  test.each([
    ["1", 1n],
    ["9223372036854775807", 2n ** 63n - 1n],
    ["9223372036854775808", undefined],
    ["12345678901234567890", undefined],
    ["-1", undefined],
    ["", undefined],
    ["1 1", undefined],
  ])("takes the caller's own number for its dial, %j, if it is one of 63 bits", (digits, dialId) => {
    const head = `CONNECT a:1 HTTP/1.1\r\nHost: a\r\nX-Drawbridge-Dial-Id: ${digits}\r\n\r\n`;
    expect(parse(head)).toMatchObject({ kind: "connect", dialId });
    // What comes behind the head is the endpoint's.
    const early = "CONNECT a:1 HTTP/1.1\r\n\r\nCONNECT\nX-Drawbridge-Dial-Id: 5\r\n\r\n";
    expect(parse(early)).toMatchObject({ kind: "connect", dialId: undefined });
  });

  test.each(["CONNECT [fd00::1]:443 HTTP/1.1\r\n\r\n", "CONNECT a:1 HTTP/1.0\n\n", "CONNECT a:1 HTTP/1.1\r\n\n"])(
    "needs no Host header and minds no bare line feed: %j",
    (text) => {
      expect(parse(text)).toMatchObject({ kind: "connect", headBytes: text.length });
    },
  );

  test.each([
    "CONNECT\r\n\r\n",
    "CONNECT a:1 HTTP/2.0\r\n\r\n",
    "CONNECT  a:1 HTTP/1.1\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nbad header\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nGood: yes\r\nbad header: no\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\n: nameless\r\n\r\n",
    "CONNECT a:1 HTTP/1.1\r\nFolded: one\r\n two\r\n\r\n",
    "CON(NECT a:1 HTTP/1.1\r\n\r\n",
    "CONNECT /path HTTP/1.1\r\n\r\n",
    "\x16\x03\x01\r\n\r\n",
  ])("calls %j malformed", (text) => {
    expect(parse(text)).toEqual({ kind: "malformed" });
  });

  test("keeps the connection after another method only if no body follows", () => {
    expect(parse("GET / HTTP/1.1\r\nHost: x\r\n\r\n")).toMatchObject({ kind: "other-method", keepAlive: true });
    expect(parse("POST / HTTP/1.1\r\nContent-Length: 3\r\n\r\nabc")).toMatchObject({ keepAlive: false });
    expect(parse("GET / HTTP/1.0\r\n\r\n")).toMatchObject({ keepAlive: false });
  });

  test("answers another method as Go's server does", () => {
    expect(methodNotAllowed(new Date(0), true)).toBe(
      "HTTP/1.1 405 Method Not Allowed\r\nContent-Type: text/plain; charset=utf-8\r\nX-Content-Type-Options: nosniff\r\n" +
        "Date: Thu, 01 Jan 1970 00:00:00 GMT\r\nContent-Length: 45\r\n\r\nthis proxy only supports CONNECT passthrough\n",
    );
  });

  test("waits for more on any strict prefix of a request", () => {
    const head = "CONNECT 10.0.0.1:443 HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    for (let cut = 0; cut < head.length; cut++) expect(parse(head.slice(0, cut))).toBeUndefined();
  });

  test("finds the end of a head wherever it was cut", () => {
    const heads = [
      "CONNECT a:1 HTTP/1.1\r\nA: b\r\n\r\nearly",
      "CONNECT a:1 HTTP/1.1\nA: b\n\nearly",
      "CONNECT a:1 HTTP/1.1\n\r\n",
    ];
    for (const head of heads) {
      const bytes = Buffer.from(head);
      const whole = parseConnectRequest(bytes) as { headBytes: number };
      for (let seen = 0; seen < whole.headBytes; seen++) expect(parseConnectRequest(bytes, seen)).toEqual(whole);
    }
  });

  test("looks at each byte of a head that comes byte by byte a few times at most", () => {
    const head = Buffer.from(`CONNECT a:1 HTTP/1.1\n${"a:b\n".repeat(1_000)}`);
    const looks = vi.spyOn(Buffer.prototype, "indexOf");
    for (let seen = 0; seen < head.length; seen++) parseConnectRequest(head.subarray(0, seen + 1), seen);
    const count = looks.mock.calls.length;
    looks.mockRestore();
    expect(count).toBeLessThan(4 * head.length);
  });

  test("never throws, whatever arrives", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        const result = parseConnectRequest(Buffer.from([...bytes, 13, 10, 13, 10]));
        expect(["connect", "other-method", "malformed"]).toContain(result?.kind);
      }),
      { numRuns: 3000 },
    );
  });

  test("gives up on a head without an end", () => {
    expect(parseConnectRequest(Buffer.alloc(64 * 1024 + 1, "a"))).toEqual({ kind: "malformed" });
  });
});
