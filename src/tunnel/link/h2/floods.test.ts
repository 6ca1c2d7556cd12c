/** Peers that make work instead of doing any, at both ends of a session: a server's peer, and an agent's server. */
import { once } from "node:events";
import { Duplex } from "node:stream";
import { afterEach, describe, expect, test, vi } from "vitest";
import { waitUntil } from "../../../../test/support/processes/deadline.js";
import {
  FRAME_HEADER_BYTES,
  FrameFlag,
  FrameType,
  frame,
  Http2ErrorCode,
  PREFACE,
  Setting,
  settings,
  uint32s,
} from "./frames.js";
import { encodeHeaders } from "./hpack.js";
import { Session, type SessionOptions } from "./session.js";
import { Stream } from "./stream.js";

/** A connection whose other end reads only when it is told to. */
class Wire extends Duplex {
  readonly sent: Buffer[] = [];
  reading: boolean;
  #done: (() => void) | undefined;

  constructor(reading: boolean) {
    super({ allowHalfOpen: true });
    this.reading = reading;
  }

  override _read(): void {}

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.sent.push(Buffer.from(chunk));
    if (this.reading) done();
    else this.#done = done;
  }

  readOn(): void {
    this.reading = true;
    this.#done?.();
  }

  /** Frames that left, without the preface. */
  frames(): { type: number; flags: number; streamId: number; payload: Buffer }[] {
    let bytes = Buffer.concat(this.sent);
    if (bytes.subarray(0, PREFACE.length).equals(PREFACE)) bytes = bytes.subarray(PREFACE.length);
    const frames = [];
    for (let at = 0; at < bytes.length; ) {
      const to = at + FRAME_HEADER_BYTES + bytes.readUIntBE(at, 3);
      const payload = bytes.subarray(at + FRAME_HEADER_BYTES, to);
      frames.push({ type: bytes[at + 3]!, flags: bytes[at + 4]!, streamId: bytes.readUInt32BE(at + 5), payload });
      at = to;
    }
    return frames;
  }

  goaway(): number | undefined {
    return this.frames()
      .find(({ type }) => type === FrameType.GOAWAY)
      ?.payload.readUInt32BE(4);
  }
}

const endings: (() => void)[] = [];
afterEach(() => {
  vi.restoreAllMocks();
  for (const end of endings.splice(0)) end();
});

interface Pair {
  readonly session: Session;
  readonly wire: Wire;
  /** Bytes of the peer. */
  say(...bytes: Buffer[]): void;
  /** The streams the peer opened, or we did. */
  readonly streams: Stream[];
}

const ROLES = ["server", "client"] as const;

function start(role: (typeof ROLES)[number], reading: boolean, more: Partial<SessionOptions> = {}): Pair {
  const wire = new Wire(reading);
  const streams: Stream[] = [];
  const session = new Session(wire, {
    isServer: role === "server",
    streamWindowBytes: 4 * 1024 * 1024,
    sessionWindowBytes: 8 * 1024 * 1024,
    onStream: (stream) => void streams.push(stream),
    ...more,
  });
  const say = (...bytes: Buffer[]): void => {
    for (const each of bytes) if (!session.destroyed) wire.emit("data", each);
  };
  endings.push(() => session.destroy());
  say(...(role === "server" ? [PREFACE] : []), settings([]));
  if (role === "client") streams.push(session.request([[":method", "POST"]]));
  else say(call(1));
  return { session, wire, say, streams };
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const call = (id: number): Buffer =>
  frame(FrameType.HEADERS, FrameFlag.END_HEADERS, id, encodeHeaders([[":path", "/x"]]));
const ping = frame(FrameType.PING, 0, 0, Buffer.alloc(8));
const data = (id: number, bytes: number): Buffer => frame(FrameType.DATA, 0, id, Buffer.alloc(bytes, 1));

/** As they would come in reads of 64 KiB. */
function many(bytes: Buffer, count: number): Buffer[] {
  const perRead = Math.max(1, Math.floor(65_536 / bytes.length));
  const reads: Buffer[] = [];
  for (let left = count; left > 0; left -= perRead) {
    reads.push(Buffer.concat(Array.from({ length: Math.min(perRead, left) }, () => bytes)));
  }
  return reads;
}

const FLOODS: Record<string, Buffer> = {
  pings: ping,
  "answers to pings nobody sent": frame(FrameType.PING, FrameFlag.ACK, 0, Buffer.alloc(8)),
  settings: settings([]),
  "settings that flip the window": Buffer.concat([
    settings([[Setting.INITIAL_WINDOW_SIZE, 0]]),
    settings([[Setting.INITIAL_WINDOW_SIZE, 1]]),
  ]),
  "DATA frames without bytes": data(1, 0),
  "DATA frames of one byte": data(1, 1),
  "DATA frames of nothing but padding": frame(FrameType.DATA, FrameFlag.PADDED, 1, Buffer.from([3, 0, 0, 0])),
  "window updates of one byte": frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(1)),
  "window updates of a stream": frame(FrameType.WINDOW_UPDATE, 0, 1, uint32s(1)),
  priorities: frame(FrameType.PRIORITY, 0, 1, Buffer.alloc(5)),
  "frames of an unknown type": frame(77, 0, 0, Buffer.alloc(0)),
  "resets of streams that are none": frame(FrameType.RST_STREAM, 0, 99, uint32s(Http2ErrorCode.CANCEL)),
  goodbyes: frame(FrameType.GOAWAY, 0, 0, uint32s(0, 0)),
};

describe.each(ROLES)("a %s", (role) => {
  test.each(Object.keys(FLOODS))("ends a session that brings nothing but %s, and says why", async (what) => {
    const { session, wire, say } = start(role, true);
    for (const read of many(FLOODS[what]!, 400_000)) {
      say(read);
      await turn();
    }
    expect(session.destroyed).toBe(true);
    await waitUntil("GOAWAY", () => wire.goaway() !== undefined);
    expect(wire.goaway()).toBe(Http2ErrorCode.ENHANCE_YOUR_CALM);
    expect(session.failure).toMatch(/frames that carry nothing/);
  });

  test.each(["pings", "settings"])(
    "holds few answers to %s for a peer that does not read, and ends it",
    async (what) => {
      const { session, wire, say } = start(role, false);
      let most = 0;
      for (const read of many(FLOODS[what]!, 400_000)) {
        say(read);
        most = Math.max(most, wire.writableLength);
      }
      expect(session.destroyed).toBe(true);
      expect(most).toBeLessThan(256 * 1024);
      wire.readOn();
      await waitUntil("GOAWAY", () => wire.goaway() !== undefined);
      expect(wire.goaway()).toBe(Http2ErrorCode.ENHANCE_YOUR_CALM);
    },
  );

  test("reads a peer whose session it has ended no further than a few reads", async () => {
    const { session, wire, say } = start(role, true);
    say(...many(ping, 400_000));
    expect(session.destroyed).toBe(true);
    for (const read of many(ping, 20_000)) wire.emit("data", read);
    expect(wire.isPaused()).toBe(true);
    await once(wire, "close");
  });

  test("closes the connection of a peer that floods it and never reads", async () => {
    const { wire, say } = start(role, false);
    say(...many(ping, 400_000));
    await once(wire, "close");
    expect(wire.destroyed).toBe(true);
  });

  test("leaves a peer alone that pings with every piece of its traffic, as grpc-go does", async () => {
    const { session, wire, say } = start(role, true);
    const traffic = Buffer.concat([data(1, 100), ping, frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(1))]);
    for (const read of many(traffic, 40_000)) {
      say(read);
      await turn();
    }
    expect([session.destroyed, session.failure]).toEqual([false, undefined]);
    const answers = wire.frames().filter(({ type, flags }) => type === FrameType.PING && flags === FrameFlag.ACK);
    expect(answers.length).toBe(40_000);
  });

  test("leaves a peer alone that pings while it only receives", async () => {
    const { session, say, streams } = start(role, true);
    for (let turn = 0; turn < 15_000 && !session.destroyed; turn++) {
      const taken = new Promise((resolve) => streams[0]!.write(data(1, 1000), resolve));
      await taken;
      say(
        ping,
        ping,
        frame(FrameType.WINDOW_UPDATE, 0, 1, uint32s(1000)),
        frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(1000)),
      );
    }
    expect(session.failure).toBeUndefined();
  });

  test("walks over its streams once for a read, however often its settings and updates change the windows", () => {
    const { session, say, streams } = start(role, true);
    for (let id = 3; id < 400; id += 2) {
      if (role === "server") say(call(id));
      else streams.push(session.request([[":method", "POST"]]));
    }
    expect(streams.length).toBe(200);
    say(settings([[Setting.INITIAL_WINDOW_SIZE, 0]]));
    for (const stream of streams) stream.write(data(stream.id, 1000), () => {});
    const pump = vi.spyOn(Stream.prototype, "pump");
    const flips = Array.from({ length: 1000 }, (_, index) => [Setting.INITIAL_WINDOW_SIZE, index % 2] as const);
    say(
      Buffer.concat([
        settings(flips),
        settings(flips),
        ...many(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(1)), 1000),
      ]),
    );
    expect(session.destroyed).toBe(false);
    expect(pump.mock.calls.length).toBeLessThanOrEqual(streams.length + 1000);
  });

  test("goes on with every stream that waited, whichever window grew", async () => {
    const { session, wire, say, streams } = start(role, true);
    for (let id = 3; id < 20; id += 2) {
      if (role === "server") say(call(id));
      else streams.push(session.request([[":method", "POST"]]));
    }
    // The session's window (65,535) is used up by the first four streams, the others wait for it.
    for (const stream of streams) stream.write(data(stream.id, 16_384), () => {});
    const bytesOf = (): number =>
      wire.frames().reduce((sum, { type, payload }) => sum + (type === FrameType.DATA ? payload.length : 0), 0);
    expect(bytesOf()).toBe(3 * 16_384);
    for (let step = 0; step < 7; step++) say(frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(16_384)));
    expect(bytesOf()).toBe(10 * 16_384);
    say(settings([[Setting.INITIAL_WINDOW_SIZE, 0]]), frame(FrameType.WINDOW_UPDATE, 0, 0, uint32s(2 ** 20)));
    for (const stream of streams) stream.write(data(stream.id, 16_384), () => {});
    expect(bytesOf()).toBe(10 * 16_384);
    say(settings([[Setting.INITIAL_WINDOW_SIZE, 2 * 16_384]]));
    expect(bytesOf()).toBe(20 * 16_384);
  });

  test("hands on what came for a paused stream in few pieces, however small the frames were", async () => {
    const { say, streams } = start(role, true);
    const [stream] = streams as [Stream];
    let pieces = 0;
    let bytes = 0;
    stream.onData = (chunk) => {
      pieces++;
      bytes += chunk.length;
    };
    stream.pause();
    say(...many(data(1, 5), 250_000));
    expect(pieces).toBe(0);
    stream.resume();
    await waitUntil("all bytes", () => bytes === 1_250_000);
    expect(pieces).toBeLessThan(1_000);
  });

  test("lets a stream be paused again at the end of a turn, before all that came meanwhile is handed on", async () => {
    const { say, streams } = start(role, true);
    const [stream] = streams as [Stream];
    let bytes = 0;
    let willPause = false;
    stream.onData = (chunk) => {
      bytes += chunk.length;
      if (!willPause) setImmediate(() => stream.pause());
      willPause = true;
    };
    stream.pause();
    say(...many(data(1, 10_000), 100));
    stream.resume();
    await turn();
    await turn();
    expect(bytes).toBeLessThan(200_000);
    say(data(1, 10_000));
    stream.resume();
    await waitUntil("all bytes", () => bytes === 1_010_000);
  });

  test("takes what was still under way to a stream that has ended, but nothing to one that never was", async () => {
    const { session, wire, say, streams } = start(role, true);
    streams[0]!.close(Http2ErrorCode.CANCEL);
    for (const read of many(data(1, 100), 50_000)) {
      say(read);
      await turn();
    }
    expect(session.failure).toBeUndefined();
    say(data(99, 100));
    expect(session.failure).toBe("DATA of a stream that was never opened");
    await waitUntil("GOAWAY", () => wire.goaway() !== undefined);
    expect(wire.goaway()).toBe(Http2ErrorCode.PROTOCOL_ERROR);
  });

  test("gives credit back for padding", async () => {
    const { wire, say } = start(role, true);
    const padded = frame(
      FrameType.DATA,
      FrameFlag.PADDED,
      1,
      Buffer.concat([Buffer.from([255]), Buffer.alloc(10 + 255)]),
    );
    for (const read of many(padded, 10_000)) {
      say(read);
      await turn();
    }
    const updates = wire.frames().filter(({ type, streamId }) => type === FrameType.WINDOW_UPDATE && streamId === 1);
    const credit = updates.reduce((sum, { payload }) => sum + payload.readUInt32BE(0), 0);
    expect(credit).toBeGreaterThan(10_000 * 266 - 2 * 1024 * 1024);
  });

  test("reads a header list of two thousand fields of one name", () => {
    const list = Array.from({ length: 1900 }, () => ["a", ""] as const);
    const { say, streams, session } = start(role, true);
    const seen: unknown[] = [];
    streams[0]!.on(role === "client" ? "headers" : "trailers", (headers) => seen.push(headers));
    say(frame(FrameType.HEADERS, FrameFlag.END_HEADERS | FrameFlag.END_STREAM, 1, encodeHeaders(list)));
    expect(session.failure).toBeUndefined();
    expect(seen).toEqual([{ a: Array.from({ length: 1900 }, () => "") }]);
  });
});

describe.each(ROLES)("a %s", (role) => {
  test("ends a session whose small header block stands for a long header list, and says why", async () => {
    const { session, wire, say } = start(role, true);
    // One field of 4,000 bytes goes into the table, and every further byte of the block is that field again.
    const field = encodeHeaders([["a", "x".repeat(3900)]]);
    field[0] = 0x40;
    const bomb = Buffer.concat([field, Buffer.alloc(100, 0x80 | 62)]);
    say(frame(FrameType.HEADERS, FrameFlag.END_HEADERS, role === "server" ? 3 : 1, bomb));
    expect(session.failure).toBe("the header list is too long");
    await waitUntil("GOAWAY", () => wire.goaway() !== undefined);
    expect(wire.goaway()).toBe(Http2ErrorCode.ENHANCE_YOUR_CALM);
  });
});

describe("an HTTP/2 server that is flooded", () => {
  test("ends a session that opens streams only to reset them, and says why", async () => {
    const { session, wire, say } = start("server", true);
    for (let id = 3; id < 100_000 && !session.destroyed; id += 2) {
      say(call(id), frame(FrameType.RST_STREAM, 0, id, uint32s(Http2ErrorCode.CANCEL)));
    }
    expect(session.destroyed).toBe(true);
    await waitUntil("GOAWAY", () => wire.goaway() !== undefined);
    expect(wire.goaway()).toBe(Http2ErrorCode.ENHANCE_YOUR_CALM);
  });

  test("announces how many streams it takes, and how long a header list", () => {
    const { wire } = start("server", true, { maxStreams: 100 });
    const greeting = wire.frames().find(({ type }) => type === FrameType.SETTINGS)!.payload;
    const entries = new Map<number, number>();
    for (let at = 0; at < greeting.length; at += 6)
      entries.set(greeting.readUInt16BE(at), greeting.readUInt32BE(at + 2));
    expect(entries.get(Setting.MAX_CONCURRENT_STREAMS)).toBe(100);
    expect(entries.get(Setting.MAX_HEADER_LIST_SIZE)).toBe(64 * 1024);
  });

  test("refuses a stream too many, takes the next once one has ended, and ends a peer that does not stop", async () => {
    const { session, wire, say, streams } = start("server", true, { maxStreams: 100 });
    let id = 3;
    for (; streams.length < 100; id += 2) say(call(id));
    const refused = (): number =>
      wire
        .frames()
        .filter(
          ({ type, payload }) =>
            type === FrameType.RST_STREAM && payload.readUInt32BE(0) === Http2ErrorCode.REFUSED_STREAM,
        ).length;
    say(call(id));
    id += 2;
    await waitUntil("the refusal", () => refused() === 1);
    expect([streams.length, session.destroyed]).toEqual([100, false]);
    say(frame(FrameType.RST_STREAM, 0, 1, uint32s(Http2ErrorCode.CANCEL)), call(id));
    expect(streams.length).toBe(101);
    for (let more = 0; more < 2000 && !session.destroyed; more++) {
      id += 2;
      say(call(id));
    }
    expect(session.failure).toMatch(/more streams/);
    await waitUntil("GOAWAY", () => wire.goaway() !== undefined);
    expect(wire.goaway()).toBe(Http2ErrorCode.ENHANCE_YOUR_CALM);
  });
});
