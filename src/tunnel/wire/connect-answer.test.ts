import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { dialFailed, ESTABLISHED, gatewayError, methodNotAllowed, noTunnels, parseConnectAnswer } from "./connect.js";

const parse = (text: string) => parseConnectAnswer(Buffer.from(text, "latin1"));

describe("the answer to CONNECT", () => {
  test.each([
    [String(ESTABLISHED), 200],
    ["HTTP/1.1 200 OK\r\nDate: Thu, 01 Jan 1970 00:00:00 GMT\r\n\r\n", 200],
    ["HTTP/1.0 200\n\n", 200],
    [noTunnels("No agent available").split("currently")[0]!, 500],
    [gatewayError(504, "").slice(0, -2), 504],
    [dialFailed(502, ""), 502],
  ])("is read up to its empty line and no further: %j", (head, status) => {
    expect(parse(`${head}and more`)).toEqual({ kind: "answer", status, bodyBytes: undefined, headBytes: head.length });
  });

  test("tells how long a body with a length is", () => {
    expect(parse(methodNotAllowed(new Date(0), true))).toMatchObject({ status: 405, bodyBytes: 45 });
  });

  test("waits on every strict prefix of an answer", () => {
    for (let cut = 0; cut < ESTABLISHED.length; cut++) expect(parse(String(ESTABLISHED).slice(0, cut))).toBeUndefined();
  });

  test.each([
    "\x00\x00\x12\x04",
    "SSH-2.0-x",
    "HTTP/2 200\r\n\r\n",
    "HTTP/1.1 2x0\r\n\r\n",
    "HTTP/1.12 200\r\n\r\n",
    "\r\n\r\n",
  ])("is malformed when it is %j", (text) => {
    expect(parse(text)).toEqual({ kind: "malformed" });
  });

  test("gives up on a head without an end", () => {
    expect(parse("HTTP/1.1 200 OK\r\n")).toBeUndefined();
    expect(parse(`HTTP/1.1 200 OK\r\n${"a: b\r\n".repeat(12_000)}`)).toEqual({ kind: "malformed" });
  });

  test("never throws, whatever arrives", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 100 }), (bytes) => {
        const result = parseConnectAnswer(Buffer.concat([Buffer.from("HTTP/1."), bytes, Buffer.from("\r\n\r\n")]));
        expect(["answer", "malformed"]).toContain(result?.kind);
      }),
      { numRuns: 2000 },
    );
  });
});
