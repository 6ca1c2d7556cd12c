import { once } from "node:events";
import net from "node:net";
import { Duplex } from "node:stream";
import fc from "fast-check";
import { describe, expect, onTestFinished, test } from "vitest";
import { wasReset } from "../../base/cut-socket.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Budget } from "./budget.js";
import { SocketPort } from "./socket-port.js";
import { TunnelTable } from "./table.js";
import { FakeCarrier } from "./testing/fake-carrier.js";
import { FIRST_WINDOW_BYTES, SendWindow } from "./window.js";

/** A socket whose kernel takes what it was given only when the test says so. `highWaterMark` differs between Node versions. */
class HeldSocket extends Duplex {
  #done: (() => void) | undefined;
  delivered = 0;

  constructor(highWaterMark: number) {
    super({ highWaterMark, allowHalfOpen: true });
  }

  destroySoon(): void {
    this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  override _read(): void {}

  /** The pieces of each write. */
  readonly writes: Buffer[][] = [];

  override _writev(chunks: { chunk: Buffer }[], done: () => void): void {
    this.writes.push(chunks.map(({ chunk }) => chunk));
    this.delivered += chunks.reduce((sum, { chunk }) => sum + chunk.length, 0);
    this.#done = done;
  }

  /** Everything written so far is gone, events included. */
  async deliver(): Promise<void> {
    while (this.#done !== undefined) await this.deliverOne();
  }

  /** What the kernel has of it is gone, events included. */
  async deliverOne(): Promise<void> {
    const done = this.#done!;
    this.#done = undefined;
    done();
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function open(socket: HeldSocket, extended = true) {
  const carrier = new FakeCarrier(extended);
  const clock = new ManualClock();
  const budget = new Budget();
  const table = new TunnelTable({
    carrier,
    budget,
    clock,
    closeWith: "CLOSE_REQ",
    pendingDials: () => 0,
    onFinished: () => {},
    onCut: () => {},
  });
  const port = new SocketPort(socket, clock);
  const tunnel = table.add(1, port, { id: 1, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: 0 });
  tunnel.start();
  return { carrier, clock, table, tunnel, port, budget };
}

/** Both defaults that Node has had for sockets: 16 KiB up to version 20, 64 KiB since 22. */
describe.each([16 * 1024, 64 * 1024])("a socket with a high-water mark of %i bytes", (highWaterMark) => {
  test("a sender that obeys its window is never left without credit", async () => {
    const sizes = fc.array(fc.integer({ min: 1, max: FIRST_WINDOW_BYTES }), { minLength: 1, maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(sizes, fc.boolean(), async (reads, takesBetween) => {
        const socket = new HeldSocket(highWaterMark);
        const { carrier, table, tunnel } = open(socket);
        const sender = new SendWindow();
        for (const bytes of reads) {
          if (sender.open) {
            sender.sent(bytes);
            tunnel.onFarData(Buffer.alloc(bytes));
            table.settle();
          }
          if (takesBetween) await socket.deliver();
          for (const packet of carrier.packets.splice(0)) if (packet.type === "CREDIT") sender.granted(packet.bytes);
        }
        await socket.deliver();
        for (const packet of carrier.packets.splice(0)) if (packet.type === "CREDIT") sender.granted(packet.bytes);
        expect(sender.open).toBe(true);
        socket.destroy();
      }),
      { numRuns: 60 },
    );
  });

  test("the case in point: a little, taken; then almost a window, taken without a word", async () => {
    const socket = new HeldSocket(highWaterMark);
    const { carrier, table, tunnel } = open(socket);
    tunnel.onFarData(Buffer.alloc(10 * 1024));
    table.settle();
    await socket.deliver();
    tunnel.onFarData(Buffer.alloc(55 * 1024));
    table.settle();
    await socket.deliver();
    expect(carrier.types()).toContain("CREDIT");
    socket.destroy();
  });

  test("what has been delivered is no longer counted as queued", async () => {
    const socket = new HeldSocket(highWaterMark);
    const { table, tunnel, budget } = open(socket, false);
    tunnel.onFarData(Buffer.alloc(1024));
    table.settle();
    await socket.deliver();
    expect(budget.queuedBytes).toBe(0);
    socket.destroy();
  });
});

describe("a tunnel that is closed", () => {
  test("delivers what is queued first", async () => {
    const socket = new HeldSocket(16 * 1024);
    const { tunnel, clock } = open(socket);
    tunnel.onFarData(Buffer.from("last words"));
    tunnel.onFarClosed("over");
    expect(socket.destroyed).toBe(false);
    await socket.deliver();
    expect(socket.delivered).toBe(10);
    expect(socket.destroyed).toBe(true);
    await new Promise((resolve) => setImmediate(resolve));
    expect(clock.waiting).toEqual([]);
  });

  test("does not wait for ever for a reader that takes nothing", () => {
    const socket = new HeldSocket(16 * 1024);
    const { tunnel, clock } = open(socket);
    tunnel.onFarData(Buffer.from("last words"));
    tunnel.onFarClosed("over");
    clock.advance(9_999);
    expect(socket.destroyed).toBe(false);
    clock.advance(1);
    expect(socket.destroyed).toBe(true);
  });

  test("a socket that was gone before its tunnel started closes the tunnel", () => {
    const socket = new HeldSocket(16 * 1024);
    socket.destroy();
    const { tunnel, carrier } = open(socket);
    expect(tunnel.closed).toBe(true);
    expect(carrier.types()).toEqual(["CLOSE_REQ"]);
  });
});

describe("a tunnel over a real connection", () => {
  test("is reset, and not ended, when its reader has not taken the last bytes in time", async () => {
    const server = net.createServer({ allowHalfOpen: true }).listen(0, "127.0.0.1");
    onTestFinished(() => void server.close());
    await once(server, "listening");
    const reader = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1").pause();
    const [socket] = (await once(server, "connection")) as [net.Socket];
    const clock = new ManualClock();
    const port = new SocketPort(socket, clock);
    port.attach({ onNearData() {}, onNearEnd() {}, onNearDrained() {}, onNearClosed() {}, onNearLost() {} });
    port.write(Buffer.alloc(32 << 20));
    port.close();
    clock.advance(10_000);
    const fate = new Promise((resolve) => {
      reader.once("end", () => resolve(wasReset(reader) ? "reset" : "end"));
      reader.once("error", () => resolve("reset"));
    });
    reader.resume();
    expect(await fate).toBe("reset");
  });
});

test("bytes that come while the socket reports the end of those before are reported, too", async () => {
  const socket = new HeldSocket(64 * 1024);
  const port = new SocketPort(socket, new ManualClock());
  let drained = 0;
  const onNearDrained = () => drained++;
  port.attach({ onNearData() {}, onNearEnd() {}, onNearDrained, onNearClosed() {}, onNearLost() {} });
  const send = (bytes: number) => {
    port.write(Buffer.alloc(bytes));
    port.flush();
  };
  send(20_000);
  await socket.deliverOne();
  send(30_000);
  await socket.deliver();
  expect({ queued: port.queuedBytes, drained }).toEqual({ queued: 0, drained: 1 });
});

test("a turn of many small pieces costs a socket that never takes them few writes, and keeps their order", async () => {
  const socket = new HeldSocket(16_384);
  const port = new SocketPort(socket, new ManualClock());
  port.attach({ onNearData() {}, onNearEnd() {}, onNearDrained() {}, onNearClosed() {}, onNearLost() {} });
  const sent = Buffer.from(Array.from({ length: 2000 }, (_, count) => count));
  for (const at of sent.keys()) port.write(sent.subarray(at, at + 1));
  port.flush();
  expect(socket.writes.map((pieces) => pieces.length)).toEqual([16]);
  expect(port.queuedBytes).toBe(2000);
  await socket.deliver();
  expect(Buffer.concat(socket.writes.flat())).toEqual(sent);
  expect(port.queuedBytes).toBe(0);
});
