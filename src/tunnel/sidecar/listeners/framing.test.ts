/** Where a message ends must be the same for the client, the proxy and the target, whatever bytes one of them sends. */
import type { Socket } from "node:net";
import { describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { openTarget, startSidecarFixture } from "../testing/fixture.js";

/** Everything that comes, as text. */
function gather(socket: Socket, into: { text: string }): void {
  socket.on("data", (chunk: Buffer) => {
    into.text += chunk.toString("latin1");
  });
}

const OK = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
/** What a client would like the target to take for a request of its own. */
const HIDDEN = "GET /hidden HTTP/1.1\r\nHost: x\r\n\r\n";

/** Sends the bytes behind a request line; what the target got, and how the client was answered. */
async function send(method: string, rest: string, answer = OK, when = /\r\n\r\n/) {
  const fixture = await startSidecarFixture("http");
  const target = { text: "" };
  const client = { text: "" };
  const port = await openTarget((socket) => {
    gather(socket, target);
    const onData = (): void => {
      if (!when.test(target.text)) return;
      socket.off("data", onData);
      socket.write(answer, "latin1");
    };
    socket.on("data", onData);
  });
  const socket = await fixture.client();
  gather(socket, client);
  socket.write(`${method} http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n${rest}`, "latin1");
  await eventually(() => expect(client.text).toMatch(/^HTTP\/1\.1 \d{3} [\s\S]*\r\n\r\n/));
  return { target, client };
}

describe("a request's framing", () => {
  test.each([
    "Connection: content-length",
    "Connection: close, Content-Length",
    "Connection: CONTENT-LENGTH",
    "connection: x\r\nConnection:  content-length ,host",
  ])("survives a header that would take it away: %j", async (connection) => {
    for (const method of ["GET", "DELETE", "POST"]) {
      const rest = `Content-Length: ${HIDDEN.length}\r\n${connection}\r\n\r\n${HIDDEN}`;
      const { target } = await send(method, rest, OK, /\/hidden[\s\S]*\r\n\r\n$/);
      await eventually(() => expect(target.text).toContain(HIDDEN));
      const head = target.text.slice(0, target.text.indexOf("\r\n\r\n"));
      expect(head).toMatch(new RegExp(`^Content-Length: ${HIDDEN.length}$`, "m"));
      expect(head).toMatch(/^Host: 127\.0\.0\.1:\d+$/m);
      expect(target.text.slice(head.length + 4)).toBe(HIDDEN);
    }
  });

  test("in chunks is written again, without extensions, whatever Connection lists", async () => {
    const rest = `Transfer-Encoding: chunked\r\nConnection: transfer-encoding\r\n\r\n5;a=b\r\nhello\r\n0\r\nHost: y\r\nX: z\r\n\r\n`;
    const { target } = await send("GET", rest, OK, /\r\n0\r\n[\s\S]*\r\n\r\n$/);
    await eventually(() => expect(target.text).toMatch(/\r\n\r\n5\r\nhello\r\n0\r\nX: z\r\n\r\n$/));
    expect(target.text).toMatch(/^Transfer-Encoding: chunked$/m);
  });

  test.each(["gzip, chunked", "identity", "xchunked"])(
    "in a coding that is not chunks is refused: Transfer-Encoding: %s",
    async (coding) => {
      const { target, client } = await send("POST", `Transfer-Encoding: ${coding}\r\n\r\n5\r\nhello\r\n0\r\n\r\n`);
      expect(client.text).toMatch(/^HTTP\/1\.1 501 /);
      expect(target.text).toBe("");
    },
  );

  test.each([
    "Content-Length: 5\r\nTransfer-Encoding: chunked",
    "Content-Length: 5\r\nContent-Length: 5",
    "Content-Length: 5\r\nContent-Length: 6",
    "Content-Length: 5, 5",
    "Content-Length: +5",
    "Content-Length : 5",
    "X: a\r\n Content-Length: 5",
    "X: a\nContent-Length: 5",
    "X: a\rContent-Length: 5",
    "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
    "Transfer-Encoding:\x0bchunked",
    "Content-Length\0: 5",
  ])("that can be read in two ways is refused: %j", async (head) => {
    const { target, client } = await send("POST", `${head}\r\n\r\nhello`);
    expect(client.text).toMatch(/^HTTP\/1\.1 400 /);
    expect(target.text).toBe("");
  });
});

describe("an answer's framing", () => {
  test.each(["Connection: content-length", "Connection: keep-alive, CONTENT-LENGTH"])(
    "survives a header that would take it away: %j",
    async (connection) => {
      const { client } = await send("GET", "\r\n", `HTTP/1.1 200 OK\r\nContent-Length: 2\r\n${connection}\r\n\r\nok`);
      await eventually(() => expect(client.text).toMatch(/\r\n\r\nok$/));
      expect(client.text).toMatch(/^Content-Length: 2$/m);
      expect(client.text).not.toMatch(/^Transfer-Encoding:/im);
    },
  );

  test.each(["gzip, chunked", "chunked, gzip", "identity"])(
    "in a coding that is not chunks is refused: Transfer-Encoding: %s",
    async (coding) => {
      const answer = `HTTP/1.1 200 OK\r\nTransfer-Encoding: ${coding}\r\n\r\n2\r\nok\r\n0\r\n\r\n`;
      const { client } = await send("GET", "\r\n", answer);
      expect(client.text).toMatch(/^HTTP\/1\.1 502 /);
    },
  );

  test.each([
    "Content-Length: 2\r\nTransfer-Encoding: chunked",
    "Content-Length: 2\r\nContent-Length: 2",
    "Content-Length: 2\r\nContent-Length: 3",
    "Content-Length: +2",
    "Content-Length : 2",
    "X: a\r\n Content-Length: 2",
    "X: a\nContent-Length: 2",
    "X: a\rContent-Length: 2",
    "Content-Length\0: 2",
  ])("that can be read in two ways is refused: %j", async (head) => {
    const { client } = await send("GET", "\r\n", `HTTP/1.1 200 OK\r\n${head}\r\n\r\nok`);
    expect(client.text).toMatch(/^HTTP\/1\.1 502 /);
  });

  test("of an unrequested second answer reaches no client", async () => {
    const { client, target } = await send("GET", "\r\n", `${OK}HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nhidden`);
    await eventually(() => expect(client.text).toMatch(/\r\n\r\nok$/));
    expect(target.text).toMatch(/^GET \/ HTTP\/1\.1\r\n/);
    expect(client.text).not.toContain("hidden");
  });

  test.each(["X: a\r\n b", "X: a\nY: b", "X: a\rY: b"])("in a change of protocol has whole lines: %j", async (head) => {
    const answer = `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n${head}\r\n\r\nbytes`;
    const { client } = await send("GET", "Connection: Upgrade\r\nUpgrade: x\r\n\r\n", answer);
    expect(client.text).toMatch(/^HTTP\/1\.1 502 /);
  });
});
