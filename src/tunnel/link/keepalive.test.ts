import { Duplex } from "node:stream";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FrameFlag, FrameType, frame, settings } from "./h2/frames.js";
import { Session } from "./h2/session.js";
import { keepAlive, PING_TIMEOUT_MS } from "./tuning.js";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const EVERY_MS = 1_000;

function watched() {
  const pings: Buffer[] = [];
  const socket = new Duplex({
    read() {},
    write(chunk: Buffer, _encoding, done) {
      if (chunk[3] === FrameType.PING) pings.push(chunk.subarray(9));
      done();
    },
  });
  const session = new Session(socket, { isServer: false, streamWindowBytes: 65_535, sessionWindowBytes: 65_535 });
  socket.emit("data", settings([]));
  let late = 0;
  keepAlive(session, EVERY_MS, () => late++);
  const answer = (): void => {
    socket.emit("data", frame(FrameType.PING, FrameFlag.ACK, 0, pings.at(-1)!));
  };
  return { session, pings, answer, late: () => late };
}

describe("a session that is kept alive", () => {
  test("is pinged again and again while the peer answers", async () => {
    const { session, pings, answer, late } = watched();
    for (let round = 1; round <= 50; round++) {
      await vi.advanceTimersByTimeAsync(EVERY_MS);
      expect(pings).toHaveLength(round);
      answer();
    }
    expect([session.destroyed, late()]).toEqual([false, 0]);
  });

  test("is destroyed when an answer does not come in time, and not pinged meanwhile", async () => {
    const { session, pings, late } = watched();
    await vi.advanceTimersByTimeAsync(EVERY_MS + PING_TIMEOUT_MS - 1);
    expect([session.destroyed, pings.length]).toEqual([false, 1]);
    await vi.advanceTimersByTimeAsync(1);
    expect([session.destroyed, late()]).toEqual([true, 1]);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is watched on after it was asked to go away", async () => {
    const { session, pings } = watched();
    session.request([]);
    session.close();
    await vi.advanceTimersByTimeAsync(EVERY_MS);
    expect([session.closed, session.destroyed, pings.length]).toEqual([true, false, 1]);
  });
});
