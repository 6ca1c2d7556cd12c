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
let clock: ManualClock;

function open(extended: boolean, closeWith: "CLOSE_REQ" | "CLOSE_RSP" = "CLOSE_REQ"): void {
  carrier = new FakeCarrier(extended);
  port = new FakePort();
  finished = [];
  clock = new ManualClock();
  table = new TunnelTable({
    carrier,
    budget: new Budget(),
    clock,
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
    "near closed": () => port.near!.onNearClosed("done"),
    cut: () => tunnel.close("too slow", "drop"),
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

describe("a stream that is not complete does not look complete at either end", () => {
  const WINDOWS_EXCEEDED = () => {
    for (let sent = 0; sent < 4; sent++) tunnel.onFarData(Buffer.alloc(FIRST_WINDOW_BYTES));
  };

  test.each([
    ["the link is lost", () => table.linkLost("gone"), "cut", []],
    ["the near party is lost", () => port.near!.onNearLost("read ECONNRESET"), "cut", ["read ECONNRESET"]],
    ["the far end says that it failed", () => tunnel.onFarClosed("closed", "read ECONNRESET"), "cut", []],
    ["the peer exceeds its window", WINDOWS_EXCEEDED, "cut", ["the peer sent more than its window"]],
    ["its reader is too slow", () => table.cut(tunnel, 1), "drop", ["its reader was too slow (DB_SLOW_READER)"]],
  ] as const)("%s", (_name, fail, near, far) => {
    for (const closeWith of ["CLOSE_REQ", "CLOSE_RSP"] as const) {
      open(true, closeWith);
      fail();
      expect(port.log.at(-1)).toBe(near);
      expect(carrier.packets.filter(({ type }) => type === closeWith)).toEqual(
        far.map((error) => ({ type: closeWith, connectId: 7, error })),
      );
    }
  });

  test("one direction had ended, and the other was silent for five minutes", () => {
    open(true);
    tunnel.onFarEnd();
    clock.advance(300_000);
    expect(port.log).toEqual(["end", "cut"]);
    expect(carrier.packets).toMatchObject([{ type: "CLOSE_REQ", error: expect.stringContaining("silent") }]);
  });

  test("an upstream agent is told without a reason, for which it has no field; an upstream server with one", () => {
    open(false, "CLOSE_REQ");
    port.near!.onNearLost("read ECONNRESET");
    expect(carrier.packets).toEqual([{ type: "CLOSE_REQ", connectId: 7 }]);
    open(false, "CLOSE_RSP");
    port.near!.onNearLost("read ECONNRESET");
    expect(carrier.packets).toEqual([{ type: "CLOSE_RSP", connectId: 7, error: "read ECONNRESET" }]);
  });

  test("ends that somebody asked for stay what they are", () => {
    open(true);
    tunnel.onFarClosed("closed", "");
    expect(port.log).toEqual(["close"]);
    open(true);
    port.near!.onNearClosed("closed");
    expect(port.log).toEqual(["close"]);
    expect(carrier.packets).toEqual([{ type: "CLOSE_REQ", connectId: 7 }]);
  });
});
