import { once } from "node:events";
import type { Socket } from "node:net";
import fc from "fast-check";
import { describe, expect, test, vi } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { type FailureKind, RouteError } from "../routing/errors.js";
import { echo, openTarget, readAll, readExactly, startSidecarFixture, TEST_LIMITS } from "../testing/fixture.js";

const GREETING = Buffer.from([5, 1, 0]);
const CHOSEN = Buffer.from([5, 0]);
const REPLY_BYTES = 10;

const toIpv4 = (port: number, ...address: number[]): Buffer =>
  Buffer.from([5, 1, 0, 1, ...(address.length === 4 ? address : [127, 0, 0, 1]), port >> 8, port & 255]);
const toName = (name: string, port: number): Buffer =>
  Buffer.concat([Buffer.from([5, 1, 0, 3, name.length]), Buffer.from(name), Buffer.from([port >> 8, port & 255])]);

async function establish(client: Socket, request: Buffer): Promise<void> {
  client.write(Buffer.concat([GREETING, request]));
  expect(await readExactly(client, 2)).toEqual(CHOSEN);
  const reply = await readExactly(client, REPLY_BYTES);
  expect([...reply.subarray(0, 4)]).toEqual([5, 0, 0, 1]);
}

describe("a SOCKS5 client", () => {
  test("reaches an IPv4 address and gets the local address of the connection", async () => {
    const fixture = await startSidecarFixture("socks5");
    const client = await fixture.client();
    let seen = 0;
    const port = await openTarget((socket) => {
      seen = socket.remotePort ?? 0;
      echo(socket);
    });
    client.write(Buffer.concat([GREETING, toIpv4(port)]));
    await readExactly(client, 2);
    const reply = await readExactly(client, REPLY_BYTES);
    // The target may learn of the connection after the client has.
    await eventually(() => expect(seen).not.toBe(0));
    expect([...reply]).toEqual([5, 0, 0, 1, 127, 0, 0, 1, seen >> 8, seen & 255]);
    client.end("hello");
    expect((await readAll(client)).toString()).toBe("hello");
  });

  test("reaches a name, and an IPv6 address", async () => {
    const fixture = await startSidecarFixture("socks5");
    fixture.router.failure = new RouteError("refused", "DB_DIAL_FAILED", "no");
    const asked: string[] = [];
    const open = vi.spyOn(fixture.router, "open").mockImplementation(async ({ host, port }) => {
      asked.push(`${host} ${port}`);
      throw fixture.router.failure;
    });
    const v6 = Buffer.from([5, 1, 0, 4, 0xfd, ...new Array(14).fill(0), 9, 1, 187]);
    for (const request of [toName("api.example", 443), v6]) {
      const client = await fixture.client();
      client.write(Buffer.concat([GREETING, request]));
      expect([...(await readAll(client))]).toEqual([5, 0, 5, 5, 0, 1, 0, 0, 0, 0, 0, 0]);
    }
    expect(asked).toEqual(["api.example 443", "fd00::9 443"]);
    open.mockRestore();
  });

  test("may send greeting, request and payload in one packet, and end its side at once", async () => {
    const fixture = await startSidecarFixture("socks5");
    const port = await openTarget(echo);
    const client = await fixture.client();
    client.end(Buffer.concat([GREETING, toIpv4(port), Buffer.from("payload")]));
    expect((await readAll(client)).subarray(2 + REPLY_BYTES).toString()).toBe("payload");
  });

  test("is understood however its bytes are split", async () => {
    const fixture = await startSidecarFixture("socks5");
    const port = await openTarget(echo);
    const sent = Buffer.concat([Buffer.from([5, 3, 1, 0, 2]), toName("localhost", port), Buffer.from("payload")]);
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
        expect((await readAll(client)).subarray(2 + REPLY_BYTES).toString()).toBe("payload");
        client.destroy();
      }),
      { numRuns: 40 },
    );
  });

  test("gets an answer or an end for whatever bytes it sends, and the next client is served", async () => {
    const clock = new ManualClock();
    const fixture = await startSidecarFixture("socks5", {}, clock);
    fixture.router.failure = new RouteError("refused", "DB_DIAL_FAILED", "no");
    const next = async (): Promise<number | undefined> => {
      const client = await fixture.client();
      client.write(Buffer.concat([GREETING, toIpv4(1)]));
      return (await readAll(client))[3];
    };
    const noise = fc.oneof(
      fc.uint8Array({ maxLength: 600 }),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.of(5, 1, 0, 5, ...bytes)),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => Uint8Array.of(5, 1, 0, 5, 1, 0, ...bytes)),
    );
    await fc.assert(
      fc.asyncProperty(noise, async (bytes) => {
        const client = await fixture.client();
        client.write(bytes);
        // Once one that came later has its answer, all of it was read, and who is still waited for is late.
        expect(await next()).toBe(5);
        clock.advance(TEST_LIMITS.handshakeTimeoutMs);
        const answer = await readAll(client);
        expect(answer.length).toBeLessThanOrEqual(2 + REPLY_BYTES);
        client.destroy();
      }),
      { numRuns: 60 },
    );
  });

  test("keeps its half of the connection after the target has ended", async () => {
    const fixture = await startSidecarFixture("socks5");
    let heard = "";
    const port = await openTarget((socket) => {
      socket.end("goodbye");
      socket.on("data", (chunk) => {
        heard += String(chunk);
      });
    });
    const client = await fixture.client();
    await establish(client, toIpv4(port));
    expect((await readAll(client)).toString()).toBe("goodbye");
    client.end("still here");
    await eventually(() => expect(heard).toBe("still here"));
  });

  test("notices that the target was reset", async () => {
    const fixture = await startSidecarFixture("socks5");
    const port = await openTarget((socket) => socket.once("data", () => socket.resetAndDestroy()));
    const client = await fixture.client();
    await establish(client, toIpv4(port));
    client.write("x");
    const [error] = await once(client, "error");
    expect(error).toMatchObject({ code: "ECONNRESET" });
  });

  test("that goes away takes its dial with it", async () => {
    const fixture = await startSidecarFixture("socks5");
    fixture.router.hanging = true;
    const client = await fixture.client();
    client.write(Buffer.concat([GREETING, toIpv4(1)]));
    await eventually(() => expect(fixture.router.dials).toBe(1));
    client.resetAndDestroy();
    await eventually(() => expect(fixture.router.stopped).toBe(1));
    expect(fixture.decisions).toMatchObject([{ kind: "socks5", outcome: "abandoned" }]);
  });
});

describe("a SOCKS5 client is refused", () => {
  const ANY_REQUEST = toIpv4(80);

  test.each<[FailureKind, number]>([
    ["name", 4],
    ["refused", 5],
    ["network", 3],
    ["host", 4],
    ["timeout", 6],
    ["forbidden", 2],
    ["path", 1],
  ])("when the router is hindered by %s, with reply %i", async (kind, reply) => {
    const fixture = await startSidecarFixture("socks5");
    fixture.router.failure = new RouteError(kind, "DB_DIAL_FAILED", "no");
    const client = await fixture.client();
    client.write(Buffer.concat([GREETING, ANY_REQUEST]));
    expect([...(await readAll(client))]).toEqual([5, 0, 5, reply, 0, 1, 0, 0, 0, 0, 0, 0]);
    expect(fixture.decisions).toMatchObject([{ kind: "socks5", outcome: kind, target: "127.0.0.1:80" }]);
  });

  test.each([
    ["BIND", [5, 2, 0, 1, 127, 0, 0, 1, 0, 80], 7, "unsupported"],
    ["UDP ASSOCIATE", [5, 3, 0, 1, 127, 0, 0, 1, 0, 80], 7, "unsupported"],
    ["an unknown address type", [5, 1, 0, 2, 127, 0, 0, 1, 0, 80], 8, "unsupported"],
    ["a name with a line break", [5, 1, 0, 3, 3, 97, 13, 10, 0, 80], 1, "malformed"],
    ["an empty name", [5, 1, 0, 3, 0, 0, 80], 1, "malformed"],
    ["port 0", [5, 1, 0, 1, 127, 0, 0, 1, 0, 0], 1, "malformed"],
  ])("for %s", async (_what, request, reply, outcome) => {
    const fixture = await startSidecarFixture("socks5");
    const client = await fixture.client();
    client.write(Buffer.concat([GREETING, Buffer.from(request)]));
    expect([...(await readAll(client))]).toEqual([5, 0, 5, reply, 0, 1, 0, 0, 0, 0, 0, 0]);
    expect(fixture.decisions).toMatchObject([{ outcome }]);
  });

  test("when it insists on a password", async () => {
    const client = await (await startSidecarFixture("socks5")).client();
    client.write(Buffer.from([5, 1, 2]));
    expect([...(await readAll(client))]).toEqual([5, 0xff]);
  });

  test("without a word when it speaks something else", async () => {
    const client = await (await startSidecarFixture("socks5")).client();
    client.write("GET / HTTP/1.1\r\n\r\n");
    expect(await readAll(client)).toHaveLength(0);
  });

  test("when it takes too long", async () => {
    const clock = new ManualClock();
    const fixture = await startSidecarFixture("socks5", { handshakeTimeoutMs: 100 }, clock);
    const client = await fixture.client();
    client.write(Buffer.from([5, 1, 0, 5]));
    expect(await readExactly(client, 2)).toEqual(CHOSEN);
    clock.advance(99);
    expect(fixture.decisions).toEqual([]);
    clock.advance(1);
    expect(await readAll(client)).toHaveLength(0);
    expect(fixture.decisions).toMatchObject([{ outcome: "late" }]);
  });

  test("not at all when those who keep it out have said nothing: the oldest of them leaves", async () => {
    const fixture = await startSidecarFixture("socks5", { maxConnections: 2 });
    const port = await openTarget(echo);
    const silent = [await fixture.client(), await fixture.client()];
    await eventually(() => expect(fixture.sidecar.limit.open).toBe(2));
    await establish(await fixture.client(), toIpv4(port));
    for (const client of silent) client.resume();
    await eventually(() =>
      expect(silent.map(({ readableEnded, closed }) => readableEnded || closed)).toEqual([true, false]),
    );
  });

  test("with a refusal when silent ones come to be refused, too", async () => {
    const fixture = await startSidecarFixture("socks5", { maxConnections: 1 });
    const port = await openTarget(echo);
    await establish(await fixture.client(), toIpv4(port));
    await fixture.client();
    await eventually(() => expect(fixture.sidecar.limit.open).toBe(2));
    const third = await fixture.client();
    third.write(Buffer.concat([GREETING, toIpv4(port)]));
    expect([...(await readAll(third))].slice(2, 4)).toEqual([5, 1]);
  });

  test("in its own terms when there are too many, until one leaves", async () => {
    const fixture = await startSidecarFixture("socks5", { maxConnections: 1 });
    const port = await openTarget(echo);
    const first = await fixture.client();
    await establish(first, toIpv4(port));
    const second = await fixture.client();
    second.write(Buffer.concat([GREETING, toIpv4(port)]));
    expect([...(await readAll(second))].slice(2, 4)).toEqual([5, 1]);
    expect(fixture.decisions.map(({ outcome }) => outcome)).toEqual(["established", "full"]);
    first.end();
    second.end();
    await eventually(() => expect(fixture.sidecar.limit.open).toBe(0));
    await establish(await fixture.client(), toIpv4(port));
  });
});
