import { describe, expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Budget, type MemoryLimits } from "./budget.js";
import { TunnelTable } from "./table.js";
import { FakeCarrier } from "./testing/fake-carrier.js";
import { FakePort } from "./testing/fake-port.js";
import type { Tunnel } from "./tunnel.js";

const MIB = 1024 * 1024;
const LIMITS: MemoryLimits = { tunnelQueueBytes: 4 * MIB, processQueueBytes: 16 * MIB, creditBudgetBytes: 0 };

/** One link to an upstream peer with tunnels whose readers a test steers. */
class Link {
  readonly carrier = new FakeCarrier(false);
  readonly cuts: Tunnel[] = [];
  readonly reasons: string[] = [];
  pendingDials = 0;
  readonly table: TunnelTable;
  #ids = 0;

  constructor(clock: ManualClock, budget: Budget) {
    this.table = new TunnelTable({
      carrier: this.carrier,
      budget,
      clock,
      closeWith: "CLOSE_REQ",
      pendingDials: () => this.pendingDials,
      onFinished: (_tunnel, reason) => this.reasons.push(reason),
      onCut: (tunnel) => this.cuts.push(tunnel),
    });
  }

  open(): { tunnel: Tunnel; port: FakePort } {
    const port = new FakePort();
    const tunnel = this.table.add(++this.#ids, port, { id: 1, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: 0 });
    tunnel.start();
    return { tunnel, port };
  }

  /** The peer sends, as far as the link is read at all; the link sees a turn of 64 KiB at a time. */
  feed(tunnel: Tunnel, bytes: number): void {
    for (let sent = 0; sent < bytes && this.carrier.reading && !tunnel.closed; sent += 65_536) {
      tunnel.onFarData(Buffer.alloc(65_536));
      this.table.settle();
    }
  }
}

function makeLink(limits = LIMITS) {
  const clock = new ManualClock();
  const budget = new Budget(limits);
  return { clock, budget, link: () => new Link(clock, budget) };
}

describe("a slow reader behind a peer without windows", () => {
  test("may hold the link for a second, then only it is cut", () => {
    const { clock, link } = makeLink();
    const shared = link();
    const slow = shared.open();
    const other = shared.open();
    shared.feed(slow.tunnel, 64 * MIB);
    expect(shared.carrier.reading).toBe(false);
    expect(slow.port.queuedBytes).toBeLessThanOrEqual(LIMITS.tunnelQueueBytes + 65_536);
    clock.advance(900);
    expect(shared.cuts).toEqual([]);
    clock.advance(200);
    expect(shared.cuts).toEqual([slow.tunnel]);
    expect(shared.reasons).toEqual(["its reader was too slow (DB_SLOW_READER)"]);
    expect(slow.port.log).toEqual(["drop"]);
    expect(shared.carrier.reading).toBe(true);
    expect(other.tunnel.closed).toBe(false);
    expect(shared.carrier.packets).toEqual([{ type: "CLOSE_REQ", connectId: slow.tunnel.connectId }]);
    expect(clock.waiting).toEqual([]);
  });

  test("a second slow phase soon after does not get a second second", () => {
    const { clock, link } = makeLink();
    const shared = link();
    const slow = shared.open();
    shared.open();
    shared.feed(slow.tunnel, 64 * MIB);
    clock.advance(800);
    slow.port.take();
    clock.advance(50);
    expect(shared.carrier.reading).toBe(true);
    shared.feed(slow.tunnel, 64 * MIB);
    clock.advance(400);
    expect(shared.cuts).toEqual([slow.tunnel]);
  });

  test("a reader that catches up in time is not cut and the link goes on", () => {
    const { clock, link } = makeLink();
    const shared = link();
    const slow = shared.open();
    shared.open();
    shared.feed(slow.tunnel, 64 * MIB);
    clock.advance(500);
    slow.port.take(slow.port.queuedBytes - 2 * MIB);
    clock.advance(50);
    expect(shared.carrier.reading).toBe(true);
    clock.advance(10_000);
    expect(shared.cuts).toEqual([]);
  });

  test("alone on its link it is waited for", () => {
    const { clock, link } = makeLink();
    const alone = link();
    const slow = alone.open();
    alone.feed(slow.tunnel, 64 * MIB);
    clock.advance(3_600_000);
    expect(alone.cuts).toEqual([]);
    expect(alone.carrier.reading).toBe(false);
    slow.port.take();
    clock.advance(50);
    expect(alone.carrier.reading).toBe(true);
  });

  test("a dial that waits for the link counts as company", () => {
    const { clock, link } = makeLink();
    const busy = link();
    const slow = busy.open();
    busy.feed(slow.tunnel, 64 * MIB);
    clock.advance(5_000);
    busy.pendingDials = 1;
    clock.advance(1_100);
    expect(busy.cuts).toEqual([slow.tunnel]);
  });

  test("a slow tunnel that closes lets the link go at once", () => {
    const { clock, link } = makeLink();
    const shared = link();
    const slow = shared.open();
    shared.feed(slow.tunnel, 64 * MIB);
    slow.port.near!.onNearLost("gone");
    expect(shared.carrier.reading).toBe(true);
    expect(clock.waiting).toEqual([]);
  });
});

describe("the process-wide bound", () => {
  test("holds for many slow readers on one link", () => {
    const { clock, budget, link } = makeLink();
    const shared = link();
    const slow = Array.from({ length: 20 }, () => shared.open());
    for (let round = 0; round < 60; round++) {
      for (const { tunnel } of slow) shared.feed(tunnel, MIB);
      const queued = slow.reduce((sum, { tunnel, port }) => sum + (tunnel.closed ? 0 : port.queuedBytes), 0);
      expect(queued).toBeLessThanOrEqual(LIMITS.processQueueBytes + 65_536);
      clock.advance(1_100);
    }
    expect(shared.cuts.length).toBeGreaterThan(0);
    expect(budget.queuedBytes).toBeLessThanOrEqual(LIMITS.processQueueBytes + 65_536);
  });

  test("holds for slow readers that are each alone on their link", () => {
    const { link } = makeLink();
    const links = Array.from({ length: 20 }, () => {
      const alone = link();
      return { alone, ...alone.open() };
    });
    for (const { alone, tunnel } of links) alone.feed(tunnel, 64 * MIB);
    const queued = links.reduce((sum, { port }) => sum + port.queuedBytes, 0);
    expect(queued).toBeLessThanOrEqual(LIMITS.processQueueBytes + links.length * 65_536);
  });

  test("does not cut a reader that has caught up because others have not", () => {
    const { clock, link } = makeLink({ ...LIMITS, processQueueBytes: 5 * MIB });
    const shared = link();
    const innocent = shared.open();
    shared.open();
    const lonely = [link(), link()].map((alone) => ({ alone, ...alone.open() }));
    shared.feed(innocent.tunnel, 3.5 * MIB);
    for (const { alone, tunnel } of lonely) alone.feed(tunnel, 3 * MIB);
    innocent.port.take();
    clock.advance(5_000);
    expect(innocent.tunnel.closed).toBe(false);
    expect(shared.carrier.reading).toBe(true);
  });
});
