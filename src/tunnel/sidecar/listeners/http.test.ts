import { once } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { type FailureKind, RouteError } from "../routing/errors.js";
import { echo, openTarget, readAll, readExactly, startSidecarFixture } from "../testing/fixture.js";

const ESTABLISHED = "HTTP/1.1 200 Connection established\r\n\r\n";

async function establish(client: Socket, authority: string): Promise<void> {
  client.write(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\n`);
  expect((await readExactly(client, ESTABLISHED.length)).toString()).toBe(ESTABLISHED);
}

describe("CONNECT", () => {
  test("carries bytes both ways, and the end of each direction by itself", async () => {
    const fixture = await startSidecarFixture("http");
    const client = await fixture.client();
    await establish(client, `127.0.0.1:${await openTarget(echo)}`);
    client.end("hello");
    expect((await readAll(client)).toString()).toBe("hello");
    expect(fixture.decisions).toMatchObject([{ kind: "connect", outcome: "established" }]);
  });

  test("is understood however its bytes are split, with what was sent along", async () => {
    const fixture = await startSidecarFixture("http");
    const authority = `127.0.0.1:${await openTarget(echo)}`;
    const sent = Buffer.from(`CONNECT ${authority} HTTP/1.1\r\nHost: ${authority}\r\n\r\npayload`);
    await fc.assert(
      fc.asyncProperty(fc.uniqueArray(fc.integer({ min: 1, max: sent.length - 1 }), { maxLength: 6 }), async (cuts) => {
        const client = await fixture.client();
        let from = 0;
        for (const to of [...cuts.sort((a, b) => a - b), sent.length]) {
          client.write(sent.subarray(from, to));
          from = to;
          await new Promise(setImmediate);
        }
        client.end();
        expect((await readAll(client)).toString()).toBe(`${ESTABLISHED}payload`);
        client.destroy();
      }),
      { numRuns: 40 },
    );
  });

  test("to a target that speaks first gets its words behind the answer", async () => {
    const fixture = await startSidecarFixture("http");
    const port = await openTarget((socket) => socket.end("220 ready\r\n"));
    const client = await fixture.client();
    client.end(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    expect((await readAll(client)).toString()).toBe(`${ESTABLISHED}220 ready\r\n`);
  });

  test("whose client has ended its side while the target was dialled lets the target know", async () => {
    const fixture = await startSidecarFixture("http");
    const port = await openTarget((socket) => socket.resume().once("end", () => socket.end("you are done")));
    const open = fixture.router.open;
    const client = await fixture.client();
    vi.spyOn(fixture.router, "open").mockImplementation(async (target, stop) => {
      client.end();
      await new Promise((resolve) => setTimeout(resolve, 20));
      return await open(target, stop);
    });
    client.write(`CONNECT 127.0.0.1:${port} HTTP/1.1\r\n\r\n`);
    expect((await readAll(client)).toString()).toBe(`${ESTABLISHED}you are done`);
  });

  test.each([
    ["example.com", { host: "example.com", port: 80 }],
    ["[fd00::1]:443", { host: "fd00::1", port: 443 }],
  ])("to %s means %j", async (authority, target) => {
    const fixture = await startSidecarFixture("http");
    const asked: unknown[] = [];
    vi.spyOn(fixture.router, "open").mockImplementation(async (wanted) => {
      asked.push(wanted);
      throw new RouteError("refused", "DB_DIAL_FAILED", "no");
    });
    const client = await fixture.client();
    client.write(`CONNECT ${authority} HTTP/1.1\r\n\r\n`);
    await readAll(client);
    expect(asked).toEqual([target]);
  });

  test("that sends on while its target is dialled is held back", async () => {
    const fixture = await startSidecarFixture("http");
    fixture.router.hanging = true;
    const client = await fixture.client();
    client.write("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n");
    const bytes = Buffer.alloc(64 << 20);
    client.write(bytes);
    let before = 0;
    await vi.waitFor(
      () => {
        const still = client.writableLength === before;
        before = client.writableLength;
        expect(still).toBe(true);
      },
      { timeout: 10_000, interval: 200 },
    );
    // What is gone is in the kernel's buffers, and a little in ours.
    expect(before).toBeGreaterThan(bytes.length / 2);
  });

  test("that goes away takes its dial with it", async () => {
    const fixture = await startSidecarFixture("http");
    fixture.router.hanging = true;
    const client = await fixture.client();
    client.write("CONNECT 127.0.0.1:1 HTTP/1.1\r\n\r\n");
    await eventually(() => expect(fixture.router.dials).toBe(1));
    client.resetAndDestroy();
    await eventually(() => expect(fixture.router.stopped).toBe(1));
  });
});

describe("an HTTP client is refused", () => {
  test.each<[FailureKind, number, string]>([
    ["name", 502, "dns_error"],
    ["refused", 502, "connection_refused"],
    ["network", 502, "destination_ip_unroutable"],
    ["host", 502, "destination_unavailable"],
    ["timeout", 504, "connection_timeout"],
    ["forbidden", 403, "http_request_denied"],
    ["path", 503, "proxy_internal_error"],
  ])("when the router is hindered by %s, with %i, and the connection ends", async (kind, status, proxyStatus) => {
    const fixture = await startSidecarFixture("http");
    fixture.router.failure = new RouteError(kind, "DB_DIAL_FAILED", "it did not work\nat all");
    for (const request of ["CONNECT 10.0.0.1:80 HTTP/1.1", "GET http://10.0.0.1/ HTTP/1.1"]) {
      const client = await fixture.client();
      client.write(`${request}\r\nHost: 10.0.0.1\r\n\r\n`);
      const answer = (await readAll(client)).toString();
      expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
      expect(answer).toContain(`\r\nProxy-Status: drawbridge; error=${proxyStatus}\r\n`);
      expect(answer).toMatch(
        /\r\nContent-Type: text\/plain.*\r\n\r\nit did not work at all \(DB_DIAL_FAILED: .+\)\n$/s,
      );
    }
    expect(fixture.decisions.map(({ kind, outcome }) => [kind, outcome])).toEqual([
      ["connect", kind],
      ["forward", kind],
    ]);
  });

  test.each([
    ["GET /healthz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "This is a proxy"],
    ["GET https://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "https needs CONNECT"],
    ["GET ftp://example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "ftp needs CONNECT"],
    ["GET http://user:secret@example.com/ HTTP/1.1\r\nHost: example.com\r\n\r\n", 400, "user name"],
    ["GET http://:80/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "no usable host"],
    ["CONNECT example.com:99999 HTTP/1.1\r\n\r\n", 400, "CONNECT needs a host and a port"],
    ["CONNECT /path HTTP/1.1\r\n\r\n", 400, ""],
    ["\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "This is not an HTTP/1.1 request"],
    [`GET http://x/ HTTP/1.1\r\nHost: x\r\nA: ${"a".repeat(20_000)}\r\n\r\n`, 431, "longer than 16384 bytes"],
  ])("for %j", async (request, status, text) => {
    const client = await (await startSidecarFixture("http")).client();
    client.write(request, "latin1");
    const answer = (await readAll(client)).toString();
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    expect(answer).toContain(text);
    expect(answer).toContain("Connection: close");
  });

  test("and is not read for long when it sends on, although it has been answered", async () => {
    const client = await (await startSidecarFixture("http")).client();
    client.resume().write("CONNECT 127.0.0.1:1 HTTP/1.1\r\n");
    const header = Buffer.from(`X: ${"a".repeat(64_000)}\r\n`);
    while (!client.destroyed) {
      if (!client.write(header)) await Promise.race([once(client, "drain"), once(client, "close")]).catch(() => {});
    }
    // Most of this is in the kernel's buffers; a client that is read until it has had its time sends hundreds of megabytes.
    expect(client.bytesWritten).toBeLessThan(32 << 20);
  });

  test("when it takes too long, whether it said something or nothing", async () => {
    const fixture = await startSidecarFixture("http", { handshakeTimeoutMs: 200 });
    const [silent, slow] = [await fixture.client(), await fixture.client()];
    slow.write("GET http://x/ HTTP/1.1\r\nA: ");
    const trickle = setInterval(() => slow.write("a"), 50);
    for (const client of [silent, slow]) expect((await readAll(client)).toString()).toMatch(/^HTTP\/1.1 408 /);
    clearInterval(trickle);
    expect(fixture.decisions).toMatchObject([{ outcome: "late" }, { outcome: "late" }]);
  });

  test("in its own terms when there are too many", async () => {
    const fixture = await startSidecarFixture("http", { maxConnections: 1 });
    const port = await openTarget(echo);
    await establish(await fixture.client(), `127.0.0.1:${port}`);
    for (const request of [`CONNECT 127.0.0.1:${port} HTTP/1.1`, `GET http://127.0.0.1:${port}/ HTTP/1.1`]) {
      const client = await fixture.client();
      client.end(`${request}\r\nHost: x\r\n\r\n`);
      expect((await readAll(client)).toString()).toMatch(/^HTTP\/1.1 503 .*connection_limit_reached/s);
    }
  });

  test("or hung up on, whatever bytes it sends, and the next client is served", async () => {
    const fixture = await startSidecarFixture("http", { handshakeTimeoutMs: 300 });
    fixture.router.failure = new RouteError("refused", "DB_DIAL_FAILED", "no");
    const words = fc.constantFrom(
      ...["GET ", "CONNECT ", "POST ", "http://a/", "a:1", " HTTP/1.1\r\n", "Host: a\r\n", "\r\n", "Upgrade: x\r\n"],
      ...[
        "Connection: upgrade\r\n",
        "Transfer-Encoding: chunked\r\n",
        "Content-Length: 3\r\n",
        "3\r\nabc\r\n",
        "0\r\n",
      ],
    );
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 400 }).map((bytes) => Buffer.from(bytes).toString("latin1")),
      fc.array(words, { maxLength: 12 }).map((parts) => parts.join("")),
    );
    await fc.assert(
      fc.asyncProperty(noise, async (text) => {
        const client = await fixture.client();
        client.end(text, "latin1");
        const answer = (await readAll(client)).toString("latin1");
        if (answer !== "") expect(answer).toMatch(/^HTTP\/1\.1 \d{3} /);
        client.destroy();
      }),
      { numRuns: 100 },
    );
    const next = async (): Promise<string> => {
      const client = await fixture.client();
      client.write("CONNECT 10.0.0.1:80 HTTP/1.1\r\n\r\n");
      return (await readAll(client)).toString();
    };
    // On a machine that stands still for a moment, one client may be late.
    await expect.poll(next, { timeout: 10_000 }).toMatch(/^HTTP\/1.1 502 /);
  });
});

test("a client that was served leaves nothing behind", async () => {
  const fixture = await startSidecarFixture("http");
  const client = await fixture.client();
  await establish(client, `127.0.0.1:${await openTarget(echo)}`);
  client.destroy();
  await eventually(() =>
    expect([fixture.sidecar.limit.open, fixture.sidecar.listeners[0]?.handler.connections.size]).toEqual([0, 0]),
  );
  const { socket } = fixture.router.opened[0]!;
  if (!socket.closed) await once(socket, "close");
});
