/**
 * What a stalled reader's bytes cost in memory, whatever the sizes in which they came: the bounds of
 * docs/architecture.md hold in memory within a factor of two.
 */
import { Duplex } from "node:stream";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { afterEach, describe, expect, test } from "vitest";
import { looseViews } from "../../src/base/byte-queue.js";
import { systemClock } from "../../src/base/clock.js";
import { Budget } from "../../src/tunnel/connection/budget.js";
import { SocketPort } from "../../src/tunnel/connection/socket-port.js";
import { TunnelTable } from "../../src/tunnel/connection/table.js";
import type { Port } from "../../src/tunnel/connection/tunnel.js";
import { GrpcStatus } from "../../src/tunnel/link/grpc-status.js";
import { FrameFlag, FrameType, frame, PREFACE, settings } from "../../src/tunnel/link/h2/frames.js";
import { encodeHeaders } from "../../src/tunnel/link/h2/hpack.js";
import { Session } from "../../src/tunnel/link/h2/session.js";
import type { Stream } from "../../src/tunnel/link/h2/stream.js";
import { SegmentCounters } from "../../src/tunnel/link/packet-meter.js";
import { PacketStream, type StreamEnd, type StreamOwner } from "../../src/tunnel/link/packet-stream.js";
import { MAX_CONTROL_BYTES } from "../../src/tunnel/link/tuning.js";
import { GrpcPort } from "../../src/tunnel/server/frontends/grpc-caller.js";
import { encodePacket } from "../../src/tunnel/wire/encode.js";
import type { ConnectId, ControlPacket } from "../../src/tunnel/wire/packet.js";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

const KIB = 1024;
/** What one read of a plain socket brings at most. */
const READ_BYTES = 64 * KIB;
/** What everything around the bytes may cost: sessions, streams, tunnels, one chunk at either end of a queue. */
const ALLOWANCE_BYTES = 1024 * KIB;

// What the process as a whole may keep alive beyond its queues is a bound of its own.
looseViews.bytesLeft = 0;

const endings: (() => void)[] = [];
afterEach(async () => {
  for (const end of endings.splice(0)) end();
  // What was destroyed lets go of its bytes only then, and must not count for the next test.
  await new Promise((resolve) => setImmediate(resolve));
});

/** A connection whose other end never reads. */
function deafSocket(): Duplex & { destroySoon(): void } {
  const socket = new Duplex({ read() {}, write() {}, writev() {}, allowHalfOpen: true });
  endings.push(() => socket.destroy());
  return Object.assign(socket, { destroySoon: () => void socket.destroy() });
}

/** The server's end of a connection on which `say` is what the peer sends on stream 1. */
function openStream(streamWindowBytes: number): { stream: Stream; say(bytes: Buffer): void } {
  const socket = deafSocket();
  const streams: Stream[] = [];
  const session = new Session(socket, {
    isServer: true,
    streamWindowBytes,
    sessionWindowBytes: 8 * 1024 * KIB,
    onStream: (stream) => void streams.push(stream),
  });
  endings.push(() => session.destroy());
  const headers = frame(FrameType.HEADERS, FrameFlag.END_HEADERS, 1, encodeHeaders([]));
  socket.emit("data", Buffer.concat([PREFACE, settings([]), headers]));
  return { stream: streams[0]!, say: (bytes) => void socket.emit("data", bytes) };
}

/** One end of a link, with the tunnels on it. */
class Link implements StreamOwner {
  readonly tunnels: TunnelTable;
  readonly stream: PacketStream;
  /** DATA of a connection that is none is answered. */
  answers = false;
  end: StreamEnd | undefined;

  constructor(stream: Stream, extended: boolean, tunnelQueueBytes: number) {
    const counters = { received: new SegmentCounters(), sent: new SegmentCounters() };
    this.stream = new PacketStream(stream, this, { ...counters, extended });
    const limits = { tunnelQueueBytes, processQueueBytes: 1024 ** 3, creditBudgetBytes: 1024 ** 3 };
    this.tunnels = new TunnelTable({
      carrier: this.stream,
      budget: new Budget(limits),
      clock: systemClock,
      closeWith: "CLOSE_REQ",
      pendingDials: () => 0,
      onFinished: () => {},
      onCut: () => {},
    });
  }

  open(connectId: number, port: Port): void {
    this.tunnels.add(connectId, port, { id: 1, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: 0 }).start();
  }

  onControl(_packet: ControlPacket): void {}
  onData(connectId: ConnectId, chunk: Buffer): void {
    const tunnel = this.tunnels.get(connectId);
    if (tunnel !== undefined) tunnel.onFarData(chunk);
    else if (this.answers) this.stream.control({ type: "CLOSE_REQ", connectId });
  }
  onSettle(): void {
    this.tunnels.settle();
  }
  onDrain(): void {}
  onEmpty(): void {}
  onRemoteEnd(): void {}
  onClosed(end: StreamEnd): void {
    this.end = end;
  }
}

/** The memory in use that only a collection of the whole heap would find free, too, is left out. */
function memory(): number {
  collect();
  collect();
  const { heapUsed, arrayBuffers } = process.memoryUsage();
  return heapUsed + arrayBuffers;
}

const packet = (connectId: number, bytes: number): Buffer =>
  encodePacket({ type: "DATA", connectId, data: Buffer.alloc(bytes, 1) });
const dataFrame = (payload: Buffer): Buffer => frame(FrameType.DATA, 0, 1, payload);

/** For each framing, one read's worth of bytes for tunnel 1. */
const FRAMINGS: Record<string, () => Buffer> = {
  "packets of one byte, many in a frame": () => repeat(dataFrame(repeat(packet(1, 1), 16_384)), READ_BYTES),
  "packets of one byte, each in a frame": () => repeat(dataFrame(packet(1, 1)), READ_BYTES),
  "packets of one byte, each in a read": () => dataFrame(packet(1, 1)),
  "packets of 100 bytes, each in a read": () => dataFrame(packet(1, 100)),
  "packets of 5,000 bytes among others' that are thrown away": () =>
    repeat(
      Buffer.concat([dataFrame(packet(1, 5000)), dataFrame(packet(9, 15_000)), dataFrame(packet(9, 15_000))]),
      READ_BYTES,
    ),
  "packets of one byte and of 4,096 in turn": () =>
    repeat(Buffer.concat([dataFrame(packet(1, 1)), dataFrame(packet(1, 4096))]), READ_BYTES),
  "packets of 32 KiB": () => {
    const whole = packet(1, 32 * KIB);
    return Buffer.concat([0, 1, 2].map((part) => dataFrame(whole.subarray(part * 16_000, (part + 1) * 16_000))));
  },
};

/** As often as it fits, at least once. */
function repeat(bytes: Buffer, within: number): Buffer {
  return Buffer.concat(Array.from({ length: Math.max(1, Math.floor(within / bytes.length)) }, () => bytes));
}

/** A read brings a chunk of its own; the turn ends after it. */
async function read(say: (bytes: Buffer) => void, bytes: Buffer): Promise<void> {
  const chunk = Buffer.allocUnsafeSlow(bytes.length);
  bytes.copy(chunk);
  say(chunk);
  await new Promise<void>((resolve) => process.nextTick(resolve));
}

describe.each(Object.keys(FRAMINGS))("for %s", (framing) => {
  const bytes = FRAMINGS[framing]!();

  test("a stalled reader behind an upstream peer holds its queue and the link's window", async () => {
    const [queue, window] = [256 * KIB, 512 * KIB];
    const { stream, say } = openStream(window);
    const link = new Link(stream, false, queue);
    const port = new SocketPort(deafSocket(), systemClock);
    link.open(1, port);
    const before = memory();
    while (!link.tunnels.readingPaused) await read(say, bytes);
    // What follows is held by the paused stream, as far as its window reaches.
    for (let held = bytes.length; held + bytes.length < window / 2; held += bytes.length) await read(say, bytes);
    expect(port.queuedBytes).toBeGreaterThanOrEqual(queue);
    expect(memory() - before).toBeLessThan(2 * (queue + window) + ALLOWANCE_BYTES);
  });

  test("stalled readers with windows hold their windows", async () => {
    const { stream, say } = openStream(8 * 1024 * KIB);
    const link = new Link(stream, true, 0);
    const ports = [1, 2, 3, 4].map((connectId) => {
      const port = new SocketPort(deafSocket(), systemClock);
      link.open(connectId, port);
      return port;
    });
    const before = memory();
    for (let id = 1; id <= ports.length; id++) {
      const mine = Buffer.from(
        bytes.toString("latin1").replaceAll("\x08\x01\x1a", `\x08${String.fromCharCode(id)}\x1a`),
        "latin1",
      );
      const port = ports[id - 1]!;
      while (port.queuedBytes < 64 * KIB) await read(say, mine);
    }
    const held = ports.reduce((sum, { queuedBytes }) => sum + queuedBytes, 0);
    expect(held).toBeGreaterThanOrEqual(4 * 64 * KIB);
    expect(memory() - before).toBeLessThan(2 * held + ALLOWANCE_BYTES);
  });

  test("a gRPC caller that does not read holds the tunnel's window", async () => {
    const { stream, say } = openStream(8 * 1024 * KIB);
    const link = new Link(stream, true, 0);
    const caller = openStream(128 * KIB).stream;
    const nobody: StreamOwner = {
      ...{ onControl() {}, onData() {}, onSettle() {}, onDrain() {}, onEmpty() {}, onRemoteEnd() {}, onClosed() {} },
    };
    const packets = new PacketStream(caller, nobody, { received: new SegmentCounters(), sent: new SegmentCounters() });
    const port = new GrpcPort(1, packets);
    link.open(1, port);
    const before = memory();
    let payload = 0;
    const tunnel = link.tunnels.get(1)!;
    while (payload < 64 * KIB) {
      await read(say, bytes);
      payload = tunnel.bytesToNear;
    }
    await new Promise((resolve) => setImmediate(resolve));
    expect(port.queuedBytes).toBeLessThan(2 * payload);
    expect(memory() - before).toBeLessThan(2 * payload + ALLOWANCE_BYTES);
  });
});

test("a peer that causes answers and reads none of them is ended", async () => {
  const { stream, say } = openStream(8 * 1024 * KIB);
  const link = new Link(stream, true, 0);
  link.answers = true;
  const flood = FRAMINGS["packets of one byte, many in a frame"]!();
  const before = memory();
  let said = 0;
  for (; link.end === undefined && said < 64 * 1024 * KIB; said += flood.length) await read(say, flood);
  expect(link.end).toEqual({ status: GrpcStatus.RESOURCE_EXHAUSTED, reason: "the peer does not read what it is sent" });
  expect(said).toBeLessThan(16 * 1024 * KIB);
  expect(memory() - before).toBeLessThan(2 * MAX_CONTROL_BYTES + ALLOWANCE_BYTES);
});
