/** Our HTTP/2 with Node's own on the other side, in both roles. */
import { once } from "node:events";
import http2 from "node:http2";
import net, { type AddressInfo } from "node:net";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { afterEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { FrameType, frame, Http2ErrorCode, PREFACE, settings } from "./frames.js";
import { encodeHeaders, type Header } from "./hpack.js";
import { Session, type SessionOptions } from "./session.js";
import type { Headers, Stream } from "./stream.js";

const WINDOWS = { streamWindowBytes: 256 * 1024, sessionWindowBytes: 1024 * 1024 };
const endings: (() => void)[] = [];
afterEach(() => {
  for (const end of endings.splice(0).reverse()) end();
});

async function ourServer(
  onStream: NonNullable<SessionOptions["onStream"]>,
): Promise<{ url: string; sessions: Session[] }> {
  const sessions: Session[] = [];
  const server = net.createServer((socket) => {
    socket.setNoDelay(true);
    sessions.push(new Session(socket, { isServer: true, ...WINDOWS, onStream }));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  endings.push(() => {
    for (const session of sessions) session.destroy();
    server.close();
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, sessions };
}

function nodeClient(url: string): http2.ClientHttp2Session {
  const client = http2.connect(url);
  client.on("error", () => {});
  endings.push(() => client.destroy());
  return client;
}

/** Answers with what it was sent. */
function echo(stream: Stream): void {
  stream.respond({ "content-type": "application/grpc" });
  const queue: Buffer[] = [];
  let busy = false;
  const next = (): void => {
    const chunk = queue.shift();
    busy = chunk !== undefined;
    if (chunk !== undefined) stream.write(frames(stream.id, chunk), next);
  };
  stream.onData = (chunk) => {
    queue.push(chunk);
    if (!busy) next();
  };
  stream.on("end", () => {
    const finish = (): void => {
      if (busy) setImmediate(finish);
      else stream.end({ "grpc-status": "0" });
    };
    finish();
  });
}

function frames(id: number, bytes: Buffer): Buffer {
  const parts: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += 16_384) {
    parts.push(frame(FrameType.DATA, 0, id, bytes.subarray(at, at + 16_384)));
  }
  return Buffer.concat(parts);
}

async function collect(stream: http2.ClientHttp2Stream): Promise<Buffer> {
  const parts: Buffer[] = [];
  for await (const part of stream) parts.push(part as Buffer);
  return Buffer.concat(parts);
}

/** A connection on which nobody hears what we say. */
function deaf(): Duplex {
  return new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() });
}

const REQUEST = { ":method": "POST", ":path": "/x", te: "trailers", "user-agent": "a long name that gets compressed" };

describe("an HTTP/2 session of a server", () => {
  test("reads Node's requests, again and again on one session, and echoes megabytes", async () => {
    const seen: Header[][] = [];
    const { url } = await ourServer((stream, fields) => {
      seen.push([...fields]);
      echo(stream);
    });
    const client = nodeClient(url);
    for (let call = 0; call < 3; call++) {
      const stream = client.request(REQUEST);
      const trailers = once(stream, "trailers");
      const bytes = Buffer.alloc(3_000_000, call + 1);
      stream.end(bytes);
      expect((await collect(stream)).equals(bytes)).toBe(true);
      expect((await trailers)[0]).toMatchObject({ "grpc-status": "0" });
    }
    for (const fields of seen) expect(fields).toContainEqual(["user-agent", REQUEST["user-agent"]]);
  });

  test("holds a sender back while a stream is paused, and loses nothing", async () => {
    let received = 0;
    const served: Stream[] = [];
    const { url } = await ourServer((stream) => {
      served.push(stream);
      stream.respond({});
      stream.pause();
      stream.onData = (chunk) => {
        received += chunk.length;
      };
      stream.on("end", () => stream.end({ "grpc-status": "0" }));
    });
    const client = nodeClient(url);
    const stream = client.request(REQUEST);
    const total = 4 * WINDOWS.streamWindowBytes;
    stream.end(Buffer.alloc(total));
    await once(stream, "response");
    // Another stream of the same session is not held back.
    const other = client.request(REQUEST);
    await once(other, "response");
    expect([received, client.destroyed]).toEqual([0, false]);
    other.close();
    served[0]!.resume();
    stream.resume();
    await once(stream, "end");
    expect(received).toBe(total);
  });

  test("answers pings and closes in good order", async () => {
    const { url, sessions } = await ourServer(echo);
    const client = nodeClient(url);
    await once(client, "connect");
    await new Promise<void>((resolve, reject) => {
      client.ping((error) => (error ? reject(error) : resolve()));
    });
    const stream = client.request(REQUEST);
    await once(stream, "response");
    const goaway = once(client, "goaway");
    sessions[0]!.close();
    expect((await goaway)[0]).toBe(Http2ErrorCode.NO_ERROR);
    const closed = once(client, "close");
    stream.end("last words");
    expect(String(await collect(stream))).toBe("last words");
    await closed;
  });

  test("tells its owner about a reset", async () => {
    const closed = new Promise<number | undefined>((resolve) => {
      void ourServer((stream) => {
        stream.respond({});
        stream.on("close", () => resolve(stream.resetCode));
      }).then(({ url }) => {
        const stream = nodeClient(url).request(REQUEST);
        stream.on("error", () => {});
        stream.once("response", () => stream.close(Http2ErrorCode.CANCEL));
      });
    });
    expect(await closed).toBe(Http2ErrorCode.CANCEL);
  });
});

describe("an HTTP/2 session of a client", () => {
  test("calls Node's server, reads headers and trailers, and echoes megabytes", async () => {
    const server = http2.createServer();
    server.on("stream", (stream, headers) => {
      stream.respond({ ":status": 200, said: String(headers.said) }, { waitForTrailers: true });
      stream.on("wantTrailers", () => stream.sendTrailers({ "grpc-status": "7" }));
      stream.pipe(stream);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const socket = net.connect((server.address() as AddressInfo).port, "127.0.0.1");
    await once(socket, "connect");
    const session = new Session(socket, { isServer: false, ...WINDOWS });
    endings.push(() => {
      session.destroy();
      server.close();
    });
    const stream = session.request([
      [":method", "POST"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "x"],
      ["said", "hello"],
    ]);
    let received = 0;
    stream.onData = (chunk) => {
      received += chunk.length;
    };
    const headers = once(stream, "headers") as Promise<[Headers]>;
    const trailers = once(stream, "trailers") as Promise<[Headers]>;
    const bytes = Buffer.alloc(2_000_000, 5);
    stream.write(frames(stream.id, bytes), () => stream.end());
    expect((await headers)[0]).toMatchObject({ ":status": "200", said: "hello" });
    expect((await trailers)[0]).toEqual({ "grpc-status": "7" });
    expect([received, stream.closed, stream.resetCode]).toEqual([bytes.length, true, undefined]);
    const answered = new Promise<void>((resolve) => session.ping(resolve));
    await answered;
  });

  test("says what it is when the peer speaks something else", async () => {
    const socket = deaf();
    const session = new Session(socket, { isServer: false, ...WINDOWS });
    const over = once(session, "close");
    socket.emit("data", Buffer.from("HTTP/1.1 400 Bad Request\r\n\r\n"));
    await over;
    expect(session.failure).toBe("this is not HTTP/2");
  });
});

describe("an HTTP/2 session that gets arbitrary bytes", () => {
  const call = Buffer.concat([
    PREFACE,
    settings([[4, 100_000]]),
    frame(FrameType.HEADERS, 0, 1, encodeHeaders([[":method", "POST"]])),
    frame(FrameType.CONTINUATION, 4, 1, encodeHeaders([[":path", "/y"]])),
    frame(FrameType.DATA, 8, 1, Buffer.from([2, 104, 105, 0, 0])),
    frame(FrameType.DATA, 0, 1, Buffer.from(" there")),
    frame(FrameType.PING, 0, 0, Buffer.alloc(8)),
    frame(99, 0, 1, Buffer.from("an extension")),
    frame(FrameType.DATA, 1, 1, Buffer.from("!")),
  ]);

  /** What a server makes of bytes that come in these pieces. */
  function serve(pieces: Buffer[]): { events: string[]; destroyed: boolean } {
    const events: string[] = [];
    let text = "";
    const socket = deaf();
    const session = new Session(socket, {
      isServer: true,
      ...WINDOWS,
      onStream(stream, fields) {
        events.push(`call ${JSON.stringify(fields)}`);
        stream.onData = (chunk) => {
          text += String(chunk);
        };
        stream.on("end", () => events.push(`end after ${text}`));
        stream.on("close", () => events.push("close"));
      },
    });
    for (const piece of pieces) socket.emit("data", piece);
    const { destroyed } = session;
    session.destroy();
    return { events, destroyed };
  }

  test("gives the same events for every split of the bytes", () => {
    const whole = serve([call]);
    expect(whole.events).toEqual(['call [[":method","POST"],[":path","/y"]]', "end after hi there!", "close"]);
    fc.assert(
      fc.property(fc.array(fc.nat(call.length), { maxLength: 20 }), (cuts) => {
        const points = [0, ...cuts.sort((a, b) => a - b), call.length];
        const pieces = points.slice(1).map((to, index) => call.subarray(points[index], to));
        expect(serve(pieces)).toEqual(whole);
      }),
      { numRuns: 300 },
    );
  });

  test("ends the session on a broken rule, and nothing else", () => {
    const endsSession = (...extra: Buffer[]): boolean => serve([call, ...extra]).destroyed;
    expect(endsSession(frame(FrameType.PING, 0, 0, Buffer.alloc(7)))).toBe(true);
    expect(endsSession(frame(FrameType.DATA, 0, 0, Buffer.from("x")))).toBe(true);
    expect(endsSession(frame(FrameType.CONTINUATION, 4, 1, Buffer.alloc(0)))).toBe(true);
    expect(endsSession(frame(FrameType.PUSH_PROMISE, 4, 1, Buffer.alloc(4)))).toBe(true);
    expect(endsSession(frame(FrameType.HEADERS, 4, 2, encodeHeaders([])))).toBe(true);
    expect(endsSession(Buffer.from("00ffff000000000003", "hex"))).toBe(true);
    expect(
      endsSession(frame(FrameType.RST_STREAM, 0, 1, Buffer.alloc(4)), frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(5))),
    ).toBe(false);
  });

  test("survives arbitrary frames", () => {
    const anyFrame = fc
      .tuple(fc.nat(10), fc.nat(255), fc.nat(4), fc.uint8Array({ maxLength: 40 }))
      .map(([type, flags, id, payload]) => frame(type, flags, id, Buffer.from(payload)));
    fc.assert(
      fc.property(fc.array(anyFrame, { maxLength: 8 }), (list) => {
        expect(Array.isArray(serve([PREFACE, settings([]), ...list]).events)).toBe(true);
      }),
      { numRuns: 2000 },
    );
  });
});

describe("a stream that its reader has paused when the peer ends it, and then the connection", () => {
  async function pausedStream(clock: ManualClock): Promise<{ stream: Stream; read: () => string }> {
    const { url } = await ourServer((stream) => {
      stream.respond({ "content-type": "application/grpc" });
      stream.write(frames(stream.id, Buffer.from("last words")), () => {
        // The caller has not ended its side: trailers, and then a reset without an error.
        stream.end({ "grpc-status": "0" });
        stream.session.close();
      });
    });
    const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
    const session = new Session(socket, { isServer: false, ...WINDOWS, runtime: clock });
    endings.push(() => session.destroy());
    const ended = once(session, "close");
    const stream = session.request([
      [":method", "POST"],
      [":scheme", "http"],
      [":path", "/x"],
    ]);
    let text = "";
    stream.onData = (chunk) => {
      text += String(chunk);
    };
    stream.pause();
    await ended;
    return { stream, read: () => text };
  }

  test("hands on what came before", async () => {
    const { stream, read } = await pausedStream(new ManualClock());
    expect([stream.closed, read()]).toEqual([false, ""]);
    stream.resume();
    expect([stream.closed, stream.resetCode, read()]).toEqual([true, undefined, "last words"]);
  });

  test("is closed after 10 s in which nobody reads", async () => {
    const clock = new ManualClock();
    const { stream, read } = await pausedStream(clock);
    clock.advance(9_999);
    expect(stream.closed).toBe(false);
    clock.advance(1);
    expect([stream.closed, stream.resetCode, read()]).toEqual([true, Http2ErrorCode.CANCEL, ""]);
  });
});
