import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Budget } from "./budget.js";
import {
  FIRST_WINDOW_BYTES,
  LEAST_ROOM_BYTES,
  MAX_WINDOW_BYTES,
  OVERSHOOT_BYTES,
  ReceiveWindow,
  SendWindow,
} from "./window.js";

const ROOMY = { tunnelQueueBytes: 1, processQueueBytes: 1, creditBudgetBytes: 64 * 1024 * 1024 };

/** One direction of one tunnel: what was sent waits for the reader, credit travels back at once. */
class Direction {
  readonly send = new SendWindow();
  readonly receive: ReceiveWindow;
  queued = 0;
  mostQueued = 0;
  broken = false;

  constructor(budget: Budget) {
    this.receive = new ReceiveWindow(budget);
  }

  write(bytes: number): void {
    if (!this.send.open) return;
    this.send.sent(bytes);
    this.queued += bytes;
    this.mostQueued = Math.max(this.mostQueued, this.queued);
    if (!this.receive.received(bytes)) this.broken = true;
    this.#grant();
  }

  read(bytes: number): void {
    this.queued -= Math.min(bytes, this.queued);
    this.#grant();
  }

  #grant(): void {
    const bytes = this.receive.toGrant(this.queued);
    if (bytes > 0) this.send.granted(bytes);
  }
}

const step = fc.oneof(
  fc.record({ write: fc.integer({ min: 1, max: OVERSHOOT_BYTES }) }),
  fc.record({ read: fc.integer({ min: 1, max: 3 * 1024 * 1024 }) }),
);

describe("one tunnel's window", () => {
  test("no order of writing and reading loses credit or breaks the bound", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 400 }), (steps) => {
        const direction = new Direction(new Budget(ROOMY));
        for (const each of steps) {
          if ("write" in each) direction.write(each.write);
          else direction.read(each.read);
          expect(direction.broken).toBe(false);
          expect(direction.queued).toBeLessThanOrEqual(MAX_WINDOW_BYTES + OVERSHOOT_BYTES);
        }
        // However it went: once the reader has taken everything, the sender may send.
        direction.read(direction.queued);
        expect(direction.send.open).toBe(true);
      }),
    );
  });

  test("a reader that never takes anything holds one first window and half a read at most", () => {
    const sizes = fc.array(fc.integer({ min: 1, max: OVERSHOOT_BYTES }), { minLength: 1, maxLength: 300 });
    fc.assert(
      fc.property(sizes, (writes) => {
        const direction = new Direction(new Budget(ROOMY));
        for (const bytes of writes) direction.write(bytes);
        expect(direction.mostQueued).toBeLessThanOrEqual(FIRST_WINDOW_BYTES + OVERSHOOT_BYTES - LEAST_ROOM_BYTES);
      }),
    );
  });

  test("a reader that keeps up gets the whole width and no more", () => {
    const budget = new Budget(ROOMY);
    const direction = new Direction(budget);
    for (let turn = 0; turn < 1000; turn++) {
      direction.write(OVERSHOOT_BYTES);
      direction.read(OVERSHOOT_BYTES);
    }
    expect(budget.creditTaken).toBe(MAX_WINDOW_BYTES - FIRST_WINDOW_BYTES);
    direction.receive.close();
    expect(budget.creditTaken).toBe(0);
  });

  test("a sender that ignores its window is noticed", () => {
    const window = new ReceiveWindow(new Budget(ROOMY));
    expect(window.received(FIRST_WINDOW_BYTES + OVERSHOOT_BYTES)).toBe(true);
    expect(window.received(1)).toBe(false);
  });
});

describe("many tunnels on one budget", () => {
  const plan = fc.array(fc.tuple(fc.nat(9), step), { maxLength: 600 });

  test("credit never exceeds the budget", () => {
    fc.assert(
      fc.property(plan, fc.integer({ min: 0, max: 4 * 1024 * 1024 }), (steps, creditBudgetBytes) => {
        const budget = new Budget({ ...ROOMY, creditBudgetBytes });
        const tunnels = Array.from({ length: 10 }, () => new Direction(budget));
        for (const [index, each] of steps) {
          const tunnel = tunnels[index]!;
          if ("write" in each) tunnel.write(each.write);
          else tunnel.read(each.read);
          expect(budget.creditTaken).toBeLessThanOrEqual(creditBudgetBytes);
          const queued = tunnels.reduce((sum, { queued: one }) => sum + one, 0);
          expect(queued).toBeLessThanOrEqual(creditBudgetBytes + 10 * (FIRST_WINDOW_BYTES + OVERSHOOT_BYTES));
        }
        for (const tunnel of tunnels) tunnel.receive.close();
        expect(budget.creditTaken).toBe(0);
      }),
    );
  });
});
