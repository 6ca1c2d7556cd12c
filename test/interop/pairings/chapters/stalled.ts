import type { Socket } from "node:net";
import { expect, test } from "vitest";
import { payload, readExactly } from "../../../support/callers/bytes.js";
import { waitUntil, within } from "../../../support/processes/deadline.js";
import { forSink, GO, startEndlessSource } from "../../../support/targets/bulk.js";
import { startEcho } from "../../../support/targets/echo.js";
import { startSlowReader } from "../../../support/targets/stalled.js";
import { type PairingFixture, PROMPTLY_MS } from "../pairing.js";

const FLOOD = 16 * 1024 * 1024;
const PINGS = 30;

/**
 * Someone who does not read hurts only itself. With upstream on the side that faces it the whole agent stream freezes,
 * so these tests are told only where that side is ours.
 */
export function stalled({ pairing, tunnel }: PairingFixture): void {
  async function neighbour(): Promise<{ ping(): Promise<void>; close(): Promise<void> }> {
    const echo = await startEcho();
    const socket = await tunnel().open(echo.address);
    const ping = async () => {
      for (let i = 0; i < PINGS; i++) {
        socket.write(`ping ${i}\n`);
        expect(String(await readExactly(socket, `ping ${i}\n`.length, PROMPTLY_MS))).toBe(`ping ${i}\n`);
      }
    };
    return {
      ping: () => within(PROMPTLY_MS, `${PINGS} pings beside the stalled tunnel`, ping()),
      close: () => {
        socket.destroy();
        return echo.close();
      },
    };
  }

  if (pairing.server === "ours") test("is not disturbed by a caller that does not read", slowCaller);
  if (pairing.agent === "ours") test("is not disturbed by an endpoint that does not read", slowEndpoint);

  async function slowCaller(): Promise<void> {
    const [beside, source] = [await neighbour(), await startEndlessSource()];
    try {
      const socket = await tunnel().open(source.address);
      socket.pause();
      socket.write(GO);
      await untilFull(() => socket.bytesRead);
      await beside.ping();
      socket.destroy();
    } finally {
      await Promise.all([beside.close(), source.close()]);
    }
  }

  async function slowEndpoint(): Promise<void> {
    const [beside, reader] = [await neighbour(), await startSlowReader()];
    try {
      const flood = forSink(payload("flood", FLOOD));
      const socket = await tunnel().open(reader.address);
      socket.write(flood);
      await untilFull(() => sent(socket));
      await beside.ping();
      if (pairing.server === "ours") {
        expect(sent(socket)).toBeLessThan(flood.length);
        reader.release();
        await waitUntil("the flood to arrive", () => reader.bytesRead === flood.length);
      }
      socket.destroy();
    } finally {
      await Promise.all([beside.close(), reader.close()]);
    }
  }
}

/** Bytes that left this process; `bytesWritten` counts what still waits here, too. */
function sent(socket: Socket): number {
  return socket.bytesWritten - socket.writableLength;
}

/** Full is when nothing has moved for a while. */
async function untilFull(moved: () => number): Promise<void> {
  let last = -1;
  let since = Date.now();
  await waitUntil("the stalled tunnel to be full", () => {
    const now = moved();
    if (now !== last) [last, since] = [now, Date.now()];
    return Date.now() - since > 300;
  });
}
