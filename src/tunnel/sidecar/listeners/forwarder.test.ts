import { createHash } from "node:crypto";
import { once } from "node:events";
import http, { type IncomingMessage, type RequestOptions } from "node:http";
import type { Socket } from "node:net";
import { describe, expect, test, vi } from "vitest";
import { payload } from "../../../../test/support/callers/bytes.js";
import { systemClock } from "../../../base/clock.js";
import { cutWhenSent, wasReset } from "../../../base/cut-socket.js";
import { eventually } from "../../../base/testing/eventually.js";
import { openTarget, readAll, readExactly, type SidecarFixture, startSidecarFixture } from "../testing/fixture.js";
import { openWebServer } from "../testing/web-server.js";

async function ask(
  { port }: SidecarFixture,
  url: string,
  options: RequestOptions = {},
  body: readonly (string | Buffer)[] = [],
): Promise<{ answer: IncomingMessage; text: string }> {
  const host = new URL(url).host;
  const request = http.request({
    host: "127.0.0.1",
    port,
    path: url,
    agent: false,
    ...options,
    headers: { Host: host, ...options.headers },
  });
  for (const part of body) request.write(part);
  request.end();
  // A reset in the middle of an answer is an error of both.
  request.on("error", () => {});
  const [answer] = (await once(request, "response")) as [IncomingMessage];
  const parts: Buffer[] = [];
  for await (const part of answer) parts.push(part as Buffer);
  return { answer, text: Buffer.concat(parts).toString() };
}

/** Everything that came before the connection ended, and how it did. */
function readUntilLost(socket: Socket): Promise<{ bytes: Buffer; fate: string }> {
  const parts: Buffer[] = [];
  return new Promise((resolve) => {
    const done = (fate: string): void => resolve({ bytes: Buffer.concat(parts), fate });
    socket.on("data", (part: Buffer) => parts.push(part));
    socket.once("end", () => done(wasReset(socket) ? "ECONNRESET" : "end"));
    socket.once("error", ({ code = "" }: NodeJS.ErrnoException) => done(code));
  });
}

describe("a plain HTTP request", () => {
  test("is asked in origin form with its own headers and without those between client and proxy", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((request, response) => {
      response.writeHead(201, "Made", ["X-One", "1", "X-One", "2", "Connection", "X-Private", "X-Private", "p"]);
      response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers }));
    });
    const { answer, text } = await ask(fixture, `http://127.0.0.1:${port}/a/b?c=d`, {
      headers: {
        "Proxy-Connection": "keep-alive",
        "Proxy-Authorization": "Basic c2VjcmV0",
        "Keep-Alive": "timeout=5",
        TE: "trailers",
        Connection: "close, X-Hop",
        "X-Hop": "h",
        "X-End": "e",
        "Accept-Encoding": "gzip",
      },
    });
    const seen = JSON.parse(text);
    expect(seen).toMatchObject({ method: "GET", url: "/a/b?c=d" });
    expect(seen.headers).toEqual({
      host: `127.0.0.1:${port}`,
      "x-end": "e",
      "accept-encoding": "gzip",
      via: expect.stringMatching(/^1\.1 drawbridge-[0-9a-f]{8}$/),
      connection: "keep-alive",
    });
    expect(answer).toMatchObject({ statusCode: 201, statusMessage: "Made" });
    expect(answer.headers).toMatchObject({ "x-one": "1, 2" });
    expect(answer.headers["x-private"]).toBeUndefined();
  });

  test("is asked of the Host in its URL, whatever its Host header says", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((request, response) => response.end(request.headers.host));
    const { text } = await ask(fixture, `http://127.0.0.1:${port}/`, { headers: { Host: "elsewhere.example" } });
    expect(text).toBe(`127.0.0.1:${port}`);
  });

  test("streams a body with a length and one in chunks, with trailers, both ways", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((request, response) => {
      const hash = createHash("sha256");
      request.on("data", (chunk) => hash.update(chunk));
      request.on("end", () => {
        response.writeHead(200, { Trailer: "X-Sum", "X-Framing": request.headers["content-length"] ?? "chunked" });
        response.write("body");
        response.addTrailers({ "X-Sum": hash.digest("hex"), "X-Got": request.trailers["x-sent"] ?? "" });
        response.end();
      });
    });
    const part = Buffer.alloc(300_000, "drawbridge ");
    const sum = createHash("sha256").update(part).update(part).digest("hex");
    const url = `http://127.0.0.1:${port}/`;
    const counted = await ask(fixture, url, { method: "POST", headers: { "Content-Length": 2 * part.length } }, [
      part,
      part,
    ]);
    expect(counted.answer.headers["x-framing"]).toBe(String(2 * part.length));
    expect(counted.answer.trailers["x-sum"]).toBe(sum);

    const client = await fixture.client();
    client.write(
      `PUT ${url} HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nTrailer: X-Sent\r\nConnection: close\r\n\r\n`,
    );
    client.write(`${part.length.toString(16)}\r\n`);
    client.write(part);
    client.write("\r\n0\r\nX-Sent: yes\r\n\r\n");
    const answer = (await readAll(client)).toString();
    expect(answer).toContain("X-Framing: chunked");
    expect(answer).toContain("X-Got: yes");
    expect(fixture.sidecar.listeners[0]?.handler.traffic.toTarget).toBe(3 * part.length);
  });

  test("without a body announces none", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer(({ headers }, response) => {
      response.end(JSON.stringify([headers["content-length"], headers["transfer-encoding"] ?? "none"]));
    });
    const client = await fixture.client();
    client.write(`POST http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    expect((await readAll(client)).toString()).toContain('["0","none"]');
  });

  test("forwards events as they arrive", async () => {
    const fixture = await startSidecarFixture("http");
    let send = (_event: string): void => {};
    const { port } = await openWebServer((_request, response) => {
      response.writeHead(200, { "Content-Type": "text/event-stream" }).flushHeaders();
      send = (event) => void response.write(event);
    });
    const request = http.get({
      host: "127.0.0.1",
      port: fixture.port,
      path: `http://127.0.0.1:${port}/`,
      agent: false,
    });
    const [answer] = (await once(request, "response")) as [IncomingMessage];
    for (const event of ["data: 1\n\n", "data: 2\n\n"]) {
      send(event);
      const [chunk] = await once(answer, "data");
      expect(String(chunk)).toBe(event);
    }
    request.destroy();
  });

  test("is followed by the next one on the same connection, and safe ones share connections to the target", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((_request, response) => response.end("ok"));
    const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
    const sockets = new Set<Socket>();
    for (let i = 0; i < 3; i++) {
      const { text, answer } = await ask(fixture, `http://127.0.0.1:${port}/`, { agent });
      expect(text).toBe("ok");
      sockets.add(answer.socket);
    }
    expect([sockets.size, fixture.router.opened.length]).toEqual([1, 1]);
    await ask(fixture, `http://127.0.0.1:${port}/`, { agent, method: "POST" });
    expect(fixture.router.opened).toHaveLength(2);
    agent.destroy();
  });

  test("is asked again on a new connection when a kept one turns out to be closed", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((_request, response) => response.end("ok"));
    await ask(fixture, `http://127.0.0.1:${port}/`);
    const kept = fixture.router.opened[0]!.socket;
    // As when the target closes at this very moment: what is written is lost.
    kept.write = (() => {
      kept.destroy(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
      return false;
    }) as typeof kept.write;
    expect((await ask(fixture, `http://127.0.0.1:${port}/`)).text).toBe("ok");
    expect(fixture.router.opened).toHaveLength(2);
  });

  test("gets 502 when the target hangs up or does not speak HTTP", async () => {
    const fixture = await startSidecarFixture("http");
    const mute = await openTarget((socket) => socket.once("data", () => socket.end()));
    const other = await openTarget((socket) => socket.end("SSH-2.0-OpenSSH\r\n"));
    for (const port of [mute, other]) {
      const { answer, text } = await ask(fixture, `http://127.0.0.1:${port}/`);
      expect(answer.statusCode).toBe(502);
      expect(text).toContain("DB_HTTP_ANSWER");
    }
  });

  test("is cut, not ended, when the target fails in the middle of its answer", async () => {
    const fixture = await startSidecarFixture("http");
    const port = await openTarget((socket) =>
      socket.once("data", () => {
        socket.write("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf");
        setImmediate(() => socket.destroy());
      }),
    );
    await expect(ask(fixture, `http://127.0.0.1:${port}/`)).rejects.toMatchObject({ code: "ECONNRESET" });
  });

  test.each([
    ["1.0", "an answer whose end is that of its connection", ""],
    ["1.1", "an answer in chunks", ""],
    ["1.1", "an answer with a length", "Content-Length: 200000\r\n"],
  ])("of HTTP/%s gets all that had come of %s, and a reset, when the target resets", async (version, _name, length) => {
    const fixture = await startSidecarFixture("http");
    const part = payload("part of an answer", 100_000);
    const port = await openTarget((socket) =>
      socket.once("data", () => {
        socket.write(`HTTP/1.1 200 OK\r\n${length}\r\n`);
        socket.write(part);
        cutWhenSent(socket, { clock: systemClock, withinMs: 9_000 });
      }),
    );
    const client = await fixture.client();
    const received = readUntilLost(client);
    client.write(`GET http://127.0.0.1:${port}/ HTTP/${version}\r\nHost: x\r\n\r\n`);
    const { bytes, fate } = await received;
    const body = bytes.subarray(bytes.indexOf("\r\n\r\n") + 4);
    expect(fate).toBe("ECONNRESET");
    expect(body.includes(part.subarray(-1_000))).toBe(true);
    expect(body.length).toBeGreaterThanOrEqual(part.length);
    expect(body.subarray(-5).toString()).not.toBe("0\r\n\r\n");
  });

  test.each([true, false])("ends at the target when the client leaves, its answer begun: %j", async (begun) => {
    const fixture = await startSidecarFixture("http");
    const seen = { asked: false, left: false };
    const { port } = await openWebServer((request, response) => {
      seen.asked = true;
      if (begun) response.write("begin");
      request.socket.once("close", () => {
        seen.left = true;
      });
    });
    const client = await fixture.client();
    client.write(`GET http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\n\r\n`);
    await eventually(() => expect(seen.asked).toBe(true));
    if (begun) await once(client, "readable");
    client.destroy();
    await eventually(() => expect(seen.left).toBe(true));
  });

  test("that is given up takes its dial with it", async () => {
    const fixture = await startSidecarFixture("http");
    fixture.router.hanging = true;
    const client = await fixture.client();
    client.write("GET http://10.0.0.1/ HTTP/1.1\r\nHost: x\r\n\r\n");
    await eventually(() => expect(fixture.router.dials).toBe(1));
    client.destroy();
    await eventually(() => expect(fixture.router.stopped).toBe(1));
    expect(fixture.decisions).toMatchObject([{ kind: "forward", outcome: "abandoned" }]);
  });

  test("with a body gets an early answer of the target", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((request, response) => request.pipe(response));
    const client = await fixture.client();
    const head = `POST http://127.0.0.1:${port}/ HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nConnection: close\r\n`;
    client.write(`${head}Expect: 100-continue\r\n\r\n`);
    const goOn = "HTTP/1.1 100 Continue\r\n\r\n";
    expect((await readExactly(client, goOn.length)).toString()).toBe(goOn);
    client.write("body");
    expect((await readAll(client)).toString()).toMatch(/^HTTP\/1.1 200 OK\r\n.*body/s);
  });

  test("waits for the target's 100 before it sends its body", async () => {
    const fixture = await startSidecarFixture("http");
    const { port, server } = await openWebServer((_request, response) => response.end("never"));
    server.on("checkContinue", (_request, response) =>
      response.writeHead(413, { Connection: "close" }).end("too large"),
    );
    const { answer } = await ask(fixture, `http://127.0.0.1:${port}/`, {
      method: "POST",
      headers: { Expect: "100-continue", "Content-Length": 5 },
    });
    expect(answer.statusCode).toBe(413);
  });

  test("that comes back to its sender is refused", async () => {
    const fixture = await startSidecarFixture("http");
    const url = `http://127.0.0.1:${fixture.port}`;
    const router = vi.spyOn(fixture.router, "routeHttp").mockImplementation((target) => ({
      key: "loop",
      form: "absolute",
      proxyAuthorization: "Basic x",
      open: (stop) => fixture.router.open(target, stop),
    }));
    const { answer, text } = await ask(fixture, `${url}/`);
    expect([answer.statusCode, text]).toEqual([508, "The request came back to the proxy that sent it.\n"]);
    router.mockRestore();
  });
});

describe("a customer's proxy", () => {
  test("is asked in absolute form and with its authorization", async () => {
    const fixture = await startSidecarFixture("http");
    const proxy = await openWebServer(({ url, headers }, response) => {
      response.end(JSON.stringify([url, headers.host, headers["proxy-authorization"]]));
    });
    vi.spyOn(fixture.router, "routeHttp").mockImplementation(() => ({
      key: "customer",
      form: "absolute",
      proxyAuthorization: "Basic dTpw",
      open: (stop) => fixture.router.open({ host: "127.0.0.1", port: proxy.port }, stop),
    }));
    const { text } = await ask(fixture, "http://web.example/x", { headers: { "Proxy-Authorization": "Basic mine" } });
    expect(JSON.parse(text)).toEqual(["http://web.example/x", "web.example", "Basic dTpw"]);
  });
});

describe("an upgrade", () => {
  const upgrade = (port: number): string =>
    `GET ws://127.0.0.1:${port}/chat HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\r\nearly `;

  test("becomes bytes in both directions, with those that came early", async () => {
    const fixture = await startSidecarFixture("http");
    const { port, server } = await openWebServer(() => {});
    server.on("upgrade", (request, socket, head) => {
      socket.write(
        `HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: ${request.headers.upgrade}\r\n\r\nhi `,
      );
      socket.write(head);
      socket.pipe(socket);
    });
    const client = await fixture.client();
    client.end(`${upgrade(port)}late`);
    const answer = (await readAll(client)).toString();
    expect(answer).toMatch(/^HTTP\/1.1 101 Switching Protocols\r\n.*Upgrade: websocket\r\n\r\nhi early late$/s);
    expect(fixture.decisions).toMatchObject([{ kind: "upgrade", outcome: "established" }]);
  });

  test("that the target does not want gets the target's answer, however long", async () => {
    const fixture = await startSidecarFixture("http");
    const { port } = await openWebServer((_request, response) => response.writeHead(403).end("n".repeat(500_000)));
    const client = await fixture.client();
    client.write(upgrade(port));
    const answer = (await readAll(client)).toString();
    expect(answer).toMatch(/^HTTP\/1.1 403 Forbidden\r\n/);
    expect(answer.match(/n/g)?.length).toBeGreaterThanOrEqual(500_000);
  });

  test("with a body is refused", async () => {
    const client = await (await startSidecarFixture("http")).client();
    client.write(
      "POST http://a/ HTTP/1.1\r\nHost: a\r\nConnection: Upgrade\r\nUpgrade: h2c\r\nContent-Length: 3\r\n\r\nabc",
    );
    expect((await readAll(client)).toString()).toMatch(/^HTTP\/1.1 501 /);
  });
});
