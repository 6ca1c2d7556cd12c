import { beforeEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Budget } from "./budget.js";
import { TunnelTable } from "./table.js";
import { FakeCarrier } from "./testing/fake-carrier.js";
import { FakePort } from "./testing/fake-port.js";
import type { Tunnel } from "./tunnel.js";
import { FIRST_WINDOW_BYTES, LEAST_ROOM_BYTES } from "./window.js";

let carrier: FakeCarrier;
let port: FakePort;
let table: TunnelTable;
let tunnel: Tunnel;
let finished: string[];

function open(extended: boolean, closeWith: "CLOSE_REQ" | "CLOSE_RSP" = "CLOSE_REQ"): void {
  carrier = new FakeCarrier(extended);
  port = new FakePort();
  finished = [];
  table = new TunnelTable({
    carrier,
    budget: new Budget(),
    clock: new ManualClock(),
    closeWith,
    pendingDials: () => 0,
    onFinished: (_tunnel, reason) => finished.push(reason),
    onCut: () => {},
  });
  tunnel = table.add(7, port, { id: 1, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: 0 });
  tunnel.start();
}

const closes = () => carrier.types().filter((type) => type.startsWith("CLOSE"));

describe("a tunnel to a peer that knows windows", () => {
  beforeEach(() => open(true));

  test("the source pauses when the window has no room for half a read and goes on with credit", () => {
    port.near!.onNearData(Buffer.alloc(FIRST_WINDOW_BYTES - LEAST_ROOM_BYTES));
    expect(port.paused).toBe(false);
    port.near!.onNearData(Buffer.alloc(1));
    expect(port.paused).toBe(true);
    tunnel.onFarCredit(1);
    expect(port.paused).toBe(false);
    expect(carrier.dataBytes).toBe(FIRST_WINDOW_BYTES - LEAST_ROOM_BYTES + 1);
  });

  test("an overshoot is paid back before the source goes on", () => {
    port.near!.onNearData(Buffer.alloc(FIRST_WINDOW_BYTES + 100));
    tunnel.onFarCredit(100 + LEAST_ROOM_BYTES - 1);
    expect(port.paused).toBe(true);
    tunnel.onFarCredit(1);
    expect(port.paused).toBe(false);
  });

  test("credit that comes while the link is congested is not lost", () => {
    carrier.congested = true;
    port.near!.onNearData(Buffer.alloc(FIRST_WINDOW_BYTES));
    tunnel.onFarCredit(FIRST_WINDOW_BYTES);
    expect(port.paused).toBe(true);
    carrier.congested = false;
    table.drained();
    expect(port.paused).toBe(false);
  });

  test("a link that drains does not overrule an empty window", () => {
    carrier.congested = true;
    port.near!.onNearData(Buffer.alloc(FIRST_WINDOW_BYTES));
    carrier.congested = false;
    table.drained();
    expect(port.paused).toBe(true);
    tunnel.onFarCredit(LEAST_ROOM_BYTES);
    expect(port.paused).toBe(false);
  });

  test("credit goes back only for what the reader took", () => {
    tunnel.onFarData(Buffer.alloc(FIRST_WINDOW_BYTES));
    table.settle();
    expect(carrier.packets).toEqual([]);
    port.take();
    expect(carrier.packets).toMatchObject([{ type: "CREDIT", connectId: 7 }]);
  });

  test("near end first: both directions end on their own, and nobody says CLOSE", () => {
    port.near!.onNearEnd();
    expect(carrier.types()).toEqual(["END_OF_STREAM"]);
    expect(finished).toEqual([]);
    tunnel.onFarData(Buffer.from("late answer"));
    expect(port.queuedBytes).toBe(11);
    tunnel.onFarEnd();
    expect(port.log).toEqual(["close"]);
    expect(finished).toHaveLength(1);
    expect(closes()).toEqual([]);
    expect(table.size).toBe(0);
  });

  test("far end first: the near party may still send", () => {
    tunnel.onFarEnd();
    expect(port.log).toEqual(["end"]);
    port.near!.onNearData(Buffer.from("still here"));
    expect(carrier.dataBytes).toBe(10);
    port.near!.onNearEnd();
    expect(carrier.types()).toEqual(["END_OF_STREAM"]);
    expect(finished).toHaveLength(1);
  });

  test("a near party that cannot be half-closed is closed, and the far end told", () => {
    port.canHalfClose = false;
    tunnel.onFarEnd();
    expect(port.log).toEqual(["close"]);
    expect(closes()).toEqual(["CLOSE_REQ"]);
  });

  test("a peer that exceeds its window loses this tunnel", () => {
    for (let sent = 0; sent < 4; sent++) tunnel.onFarData(Buffer.alloc(FIRST_WINDOW_BYTES));
    expect(finished).toEqual(["the peer sent more than its window"]);
    expect(closes()).toEqual(["CLOSE_REQ"]);
  });

  test("bytes after an announced end are dropped", () => {
    tunnel.onFarEnd();
    tunnel.onFarData(Buffer.from("too late"));
    expect(port.queuedBytes).toBe(0);
  });
});

describe("a tunnel to an upstream peer", () => {
  beforeEach(() => open(false, "CLOSE_RSP"));

  test("nothing of ours is ever sent", () => {
    port.near!.onNearData(Buffer.alloc(10 * FIRST_WINDOW_BYTES));
    tunnel.onFarData(Buffer.alloc(10 * FIRST_WINDOW_BYTES));
    table.settle();
    port.take();
    port.near!.onNearEnd();
    expect(carrier.types()).toEqual(["CLOSE_RSP"]);
    expect(carrier.packets).toEqual([{ type: "CLOSE_RSP", connectId: 7, error: "" }]);
  });

  test("the near end's end closes both directions, delivering what is queued", () => {
    tunnel.onFarData(Buffer.from("last words"));
    port.near!.onNearEnd();
    expect(port.log).toEqual(["close"]);
    expect(finished).toHaveLength(1);
  });
});

describe("whoever closes first, the close packet goes out once", () => {
  const endings: Record<string, () => void> = {
    "near lost": () => port.near!.onNearLost("gone"),
    "near end": () => port.near!.onNearEnd(),
    "far closed": () => tunnel.onFarClosed("closed there"),
    cut: () => tunnel.close("too slow", "destroy"),
    "link lost": () => tunnel.linkLost("link lost"),
  };
  const silent = new Set(["far closed", "link lost"]);

  for (const [first, end] of Object.entries(endings)) {
    for (const [second, again] of Object.entries(endings)) {
      test(`${first}, then ${second}`, () => {
        open(false);
        end();
        again();
        expect(closes()).toEqual(silent.has(first) ? [] : ["CLOSE_REQ"]);
        expect(finished).toHaveLength(1);
        expect(port.log).toHaveLength(1);
      });
    }
  }
});
