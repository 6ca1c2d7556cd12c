import { createHash, randomBytes } from "node:crypto";
import { once } from "node:events";
import type { Socket } from "node:net";
import { Duplex } from "node:stream";
import { describe, expect, test, vi } from "vitest";
import { systemClock } from "../../base/clock.js";
import { cutWhenSent } from "../../base/cut-socket.js";
import type { Runtime } from "../../base/runtime.js";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Relay, type RelayEnd, type Traffic } from "./relay.js";
import { connectTo, openTarget, readAll, readExactly } from "./testing/fixture.js";

/** The two ends of one TCP connection. */
async function pair(): Promise<[ours: Socket, theirs: Socket]> {
  let accepted: ((socket: Socket) => void) | undefined;
  const ours = new Promise<Socket>((resolve) => {
    accepted = resolve;
  });
  const theirs = await connectTo(await openTarget((socket) => accepted?.(socket)));
  return [await ours, theirs];
}

async function relayed(idleTimeoutMs = 0, runtime?: Runtime) {
  const [[near, client], [far, target]] = [await pair(), await pair()];
  const traffic = { toTarget: 0, fromTarget: 0 };
  const ends: RelayEnd[] = [];
  const relay = new Relay(near, far, { traffic, idleTimeoutMs, onEnd: (end) => ends.push(end), runtime });
  return { near, far, client, target, traffic, ends, relay };
}

/** Until everything that can move without a reader has moved. */
async function untilStill(traffic: Traffic): Promise<void> {
  let before = -1;
  await vi.waitFor(
    () => {
      const now = traffic.toTarget;
      const still = now === before;
      before = now;
      expect(still && now > 0).toBe(true);
    },
    { timeout: 10_000, interval: 200 },
  );
}

describe("a relay", () => {
  test("carries a lot both ways at once, whole and in order", async () => {
    const { client, target, traffic, ends } = await relayed();
    const [up, down] = [randomBytes(8 << 20), randomBytes(5 << 20)];
    client.end(up);
    target.end(down);
    const [atTarget, atClient] = await Promise.all([readAll(target), readAll(client)]);
    const sum = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex");
    expect([sum(atTarget), sum(atClient)]).toEqual([sum(up), sum(down)]);
    await eventually(() => expect(ends).toEqual([{ toTarget: up.length, fromTarget: down.length, error: "" }]));
    expect(traffic).toEqual({ toTarget: up.length, fromTarget: down.length });
  });

  test("holds a sender back while the other side does not read, and goes on when it does", async () => {
    const { client, target, traffic } = await relayed();
    const bytes = Buffer.alloc(32 << 20, "drawbridge ");
    client.end(bytes);
    await untilStill(traffic);
    expect(traffic.toTarget).toBeLessThan(bytes.length);
    expect((await readAll(target)).equals(bytes)).toBe(true);
  });

  test("forwards bytes and an end that arrived before it was made", async () => {
    const [[near, client], [far, target]] = [await pair(), await pair()];
    client.end("early ");
    target.write("also ");
    for (const socket of [near, far]) await once(socket, "readable");
    near.unshift("very ");
    await eventually(() => expect(near.read(0) === null && near.readableLength).toBe(11));
    new Relay(near, far, { traffic: { toTarget: 0, fromTarget: 0 }, idleTimeoutMs: 0, onEnd: () => {} });
    expect((await readAll(target)).toString()).toBe("very early ");
    target.end("late");
    expect((await readAll(client)).toString()).toBe("also late");
  });

  test("ends with the streams it was given, and they with it", async () => {
    const one = await relayed();
    one.near.destroy();
    await eventually(() => expect(one.ends).toMatchObject([{ error: "the connection was lost" }]));
    expect([one.near.closed, one.far.closed]).toEqual([true, true]);
    const other = await relayed();
    other.client.end();
    other.target.end();
    await eventually(() => expect([other.near.closed, other.far.closed]).toEqual([true, true]));
    expect(other.ends).toMatchObject([{ error: "" }]);
  });

  test("ends one direction alone", async () => {
    const { client, target } = await relayed();
    client.end("question");
    expect((await readAll(target)).toString()).toBe("question");
    target.write("long ");
    expect((await readExactly(client, 5)).toString()).toBe("long ");
    target.end("answer");
    expect((await readAll(client)).toString()).toBe("answer");
  });

  test("resets the other side after a reset, and reports it at the end", async () => {
    const { client, target, ends } = await relayed();
    const reset = once(client, "error");
    target.resetAndDestroy();
    expect(await reset).toMatchObject([{ code: "ECONNRESET" }]);
    await eventually(() => expect(ends).toMatchObject([{ error: "read ECONNRESET" }]));
  });

  test("delivers everything that came before the reset, to a client that takes its time", async () => {
    const { client, target } = await relayed();
    const answer = randomBytes(3 << 20);
    client.pause();
    target.write(answer);
    cutWhenSent(target, { clock: systemClock, withinMs: 9_000 });
    let received = 0;
    client.on("data", (chunk: Buffer) => {
      received += chunk.length;
    });
    const reset = once(client, "error");
    await new Promise((resolve) => setTimeout(resolve, 300));
    client.resume();
    expect(await reset).toMatchObject([{ code: "ECONNRESET" }]);
    expect(received).toBe(answer.length);
  });

  test("is cut when nothing moves, but not while something does", async () => {
    const clock = new ManualClock();
    const { client, target, ends } = await relayed(150, clock);
    for (let i = 0; i < 6; i++) {
      client.write("x");
      // Nothing could be read of a relay that was cut.
      await readExactly(target, 1);
      clock.advance(149);
    }
    expect(ends).toHaveLength(0);
    clock.advance(1);
    await eventually(() => {
      clock.advance(10);
      expect(ends).toEqual([{ toTarget: 6, fromTarget: 0, error: "nothing moved for 150 ms" }]);
    });
  });

  test("bounds a connection that stays half open", async () => {
    const clock = new ManualClock();
    const { client, target, ends } = await relayed(150, clock);
    client.end("only this");
    expect((await readAll(target)).toString()).toBe("only this");
    clock.advance(150);
    await eventually(() => {
      clock.advance(10);
      expect(ends).toMatchObject([{ error: "nothing moved for 150 ms" }]);
    });
  });

  test("does not wait for drains that a stream with a high mark of its own never announces", async () => {
    const [near, client] = await pair();
    const taken: (() => void)[] = [];
    const far = new Duplex({
      writableHighWaterMark: 1 << 20,
      read() {},
      write: (_chunk, _encoding, done) => void taken.push(done),
    });
    const traffic = { toTarget: 0, fromTarget: 0 };
    new Relay(near, far, { traffic, idleTimeoutMs: 0, onEnd: () => {} });
    const bytes = Buffer.alloc(3 << 20);
    client.write(bytes);
    await vi.waitFor(
      () => {
        taken.shift()?.();
        expect(traffic.toTarget).toBe(bytes.length);
      },
      { timeout: 10_000, interval: 1 },
    );
    far.destroy();
  });

  test("reads a client to its end after the target has gone", async () => {
    const [near, client] = await pair();
    const far = new Duplex({ allowHalfOpen: false, read() {}, write: (_chunk, _encoding, done) => done() });
    const ends: RelayEnd[] = [];
    new Relay(near, far, { traffic: { toTarget: 0, fromTarget: 0 }, idleTimeoutMs: 0, onEnd: (end) => ends.push(end) });
    far.push("last words");
    far.push(null);
    await once(far, "close");
    client.end(Buffer.alloc(1 << 20));
    expect((await readAll(client)).toString()).toBe("last words");
    await eventually(() => expect(ends).toMatchObject([{ error: "" }]));
  });
});
