/** All that the tunnel takes from its surroundings: time, turns of the event loop, chance and connections. */
import { randomFillSync } from "node:crypto";
import net, { type NetConnectOpts, type Socket } from "node:net";
import { type Clock, systemClock } from "./clock.js";

/** Injected where a clock alone does not do, so that a simulation with a seed can decide about all of it. */
export interface Runtime extends Clock {
  /** Calls back once the current turn of the event loop is over, as setImmediate does. */
  soon(action: () => void): void;
  /** Calls back once the current call is over and before any other event, as process.nextTick does. */
  next(action: () => void): void;
  /** A number from 0 up to, but not including, 1. */
  random(): number;
  /** A few: no more than 4096. */
  randomBytes(size: number): Buffer;
  /** As net.connect does. */
  connect(options: NetConnectOpts): Socket;
}

// As they are when the process begins, for the reason that the clock has.
const { setImmediate: startImmediate } = globalThis;
const { nextTick } = process;

/** Randomness is drawn for many at once: a call for eight bytes costs as much as one for thousands. */
const drawn = Buffer.alloc(4096);
let used = drawn.length;

function randomBytes(size: number): Buffer {
  if (used + size > drawn.length) {
    randomFillSync(drawn);
    used = 0;
  }
  used += size;
  return Buffer.from(drawn.subarray(used - size, used));
}

export const systemRuntime: Runtime = {
  ...systemClock,
  soon: (action) => void startImmediate(action),
  next: (action) => nextTick(action),
  random: () => Math.random(),
  randomBytes,
  connect: (options) => net.connect(options),
};
