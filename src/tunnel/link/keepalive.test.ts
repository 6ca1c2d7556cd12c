import { Duplex } from "node:stream";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { FrameFlag, FrameType, frame, settings } from "./h2/frames.js";
import { Session } from "./h2/session.js";
import { keepAlive, PING_TIMEOUT_MS } from "./tuning.js";

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
  const runtime = new ManualClock();
  const session = new Session(socket, {
    runtime,
    isServer: false,
    streamWindowBytes: 65_535,
    sessionWindowBytes: 65_535,
  });
  socket.emit("data", settings([]));
  let late = 0;
  keepAlive(session, EVERY_MS, () => late++);
  const answer = (): void => {
    socket.emit("data", frame(FrameType.PING, FrameFlag.ACK, 0, pings.at(-1)!));
  };
  /** The transport calls back in turns of its own. */
  const advance = (ms: number): Promise<void> => {
    runtime.advance(ms);
    return new Promise((resolve) => setImmediate(resolve));
  };
  return { advance, runtime, session, pings, answer, late: () => late };
}

describe("a session that is kept alive", () => {
  test("is pinged again and again while the peer answers", async () => {
    const { advance, session, pings, answer, late } = watched();
    for (let round = 1; round <= 50; round++) {
      await advance(EVERY_MS);
      expect(pings).toHaveLength(round);
      answer();
    }
    expect([session.destroyed, late()]).toEqual([false, 0]);
  });

  test("is destroyed when an answer does not come in time, and not pinged meanwhile", async () => {
    const { advance, runtime, session, pings, late } = watched();
    await advance(EVERY_MS + PING_TIMEOUT_MS - 1);
    expect([session.destroyed, pings.length]).toEqual([false, 1]);
    await advance(1);
    expect([session.destroyed, late()]).toEqual([true, 1]);
    expect(runtime.waiting).toEqual([]);
  });

  test("is watched on after it was asked to go away", async () => {
    const { advance, session, pings } = watched();
    session.request([]);
    session.close();
    await advance(EVERY_MS);
    expect([session.closed, session.destroyed, pings.length]).toEqual([true, false, 1]);
  });
});
