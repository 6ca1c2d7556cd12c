import { beforeEach, describe, expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { Budget } from "./budget.js";
import { ClosingPhase, closingPhaseMs } from "./closing-phase.js";
import { TunnelTable } from "./table.js";
import { FakeCarrier } from "./testing/fake-carrier.js";
import { FakePort } from "./testing/fake-port.js";
import type { Tunnel } from "./tunnel.js";

const PHASE_MS = 5_000;

let clock: ManualClock;
let carrier: FakeCarrier;
let port: FakePort;
let table: TunnelTable;
let tunnel: Tunnel;
let finished: string[];
let phase: ClosingPhase;

function open(extended: boolean): void {
  clock = new ManualClock();
  carrier = new FakeCarrier(extended);
  port = new FakePort();
  finished = [];
  table = new TunnelTable({
    ...{ carrier, clock, budget: new Budget(), closeWith: "CLOSE_REQ", pendingDials: () => 0, onCut: () => {} },
    onFinished: (_tunnel, reason) => finished.push(reason),
  });
  tunnel = table.add(7, port, { id: 1, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: clock.now() });
  tunnel.start();
  clock.advance(60_000);
}

function begin(): void {
  const endsAt = clock.now() + PHASE_MS;
  phase = new ClosingPhase({ tunnels: () => table.values(), runtime: clock, endsAt, reason: "between two requests" });
}

const ask = () => port.near!.onNearData(Buffer.from("GET / HTTP/1.1\r\n\r\n"));

function answer(): void {
  tunnel.onFarData(Buffer.from("HTTP/1.1 200 OK\r\n\r\n"));
  port.take();
}

/** Time in steps of a millisecond, each of which ends with a turn of the event loop. */
async function pass(ms: number, onStep: (ms: number) => void = () => {}): Promise<void> {
  for (let passed = 1; passed <= ms; passed++) {
    onStep(passed);
    clock.advance(1);
    await new Promise((resolve) => setImmediate(resolve));
  }
}

test("a closing phase is the last half of a short drain, and the last 5 s of a long one", () => {
  expect([1_000, 8_000, 10_000, 20_000, 3_600_000].map(closingPhaseMs)).toEqual([500, 4_000, 5_000, 5_000, 5_000]);
});

describe.each([
  ["a drawbridge peer", true],
  ["an upstream peer", false],
])("with %s", (_name, extended) => {
  beforeEach(() => open(extended));

  test("a tunnel that was answered and is silent is closed at both ends", async () => {
    ask();
    answer();
    begin();
    await pass(700);
    expect([tunnel.closed, phase.closed, finished]).toEqual([true, 1, ["between two requests"]]);
    expect([port.log, carrier.types().filter((type) => type !== "CREDIT")]).toEqual([["destroy"], ["CLOSE_REQ"]]);
  });

  test("a request that is under way is waited for, and the tunnel closed after its answer", async () => {
    ask();
    answer();
    ask();
    begin();
    await pass(3_000);
    expect(tunnel.closed).toBe(false);
    answer();
    await pass(300);
    expect(tunnel.closed).toBe(true);
  });

  test("a request that is never answered is left to the deadline, and no timer remains", async () => {
    ask();
    begin();
    await pass(PHASE_MS + 100);
    expect([tunnel.closed, phase.closed, clock.waiting]).toEqual([false, 0, []]);
  });
});

describe("a tunnel", () => {
  beforeEach(() => open(true));

  test.each([
    ["200 ms", 200, 2_500],
    ["30 ms", 30, 1_250],
  ])(
    "with a request every %s is closed between two of them, when little enough time is left",
    async (_name, every, left) => {
      let asked = 0;
      let answered = 0;
      begin();
      await pass(PHASE_MS, (ms) => {
        if (tunnel.closed) return;
        if (ms % every === 0) {
          asked++;
          ask();
        } else if (asked > answered && ms % every === 5) {
          answered++;
          answer();
        }
        if (PHASE_MS - ms > left) expect(tunnel.closed).toBe(false);
      });
      expect([tunnel.closed, answered]).toEqual([true, asked]);
    },
  );

  test("is not taken for silent because this process did not run for a while", async () => {
    ask();
    answer();
    begin();
    await pass(1_000, (ms) => ms % 100 === 0 && answer());
    clock.sleep(1_000);
    await pass(5);
    expect(tunnel.closed).toBe(false);
    await pass(600);
    expect(tunnel.closed).toBe(true);
  });

  test("with an answer that comes in pieces is not closed between them", async () => {
    ask();
    begin();
    await pass(2_000, (ms) => ms % 200 === 0 && answer());
    expect(tunnel.closed).toBe(false);
  });

  test("whose caller has not read its answer yet is not closed", async () => {
    ask();
    tunnel.onFarData(Buffer.from("a long answer"));
    begin();
    await pass(4_000);
    expect(tunnel.closed).toBe(false);
    port.take();
    await pass(900);
    expect(tunnel.closed).toBe(true);
  });

  test("whose caller is not read at present is not closed", async () => {
    ask();
    answer();
    tunnel.paused = true;
    begin();
    await pass(PHASE_MS);
    expect(tunnel.closed).toBe(false);
  });

  test("that is less than a second old is not closed: a TLS handshake has pauses, too", async () => {
    begin();
    await pass(4_000);
    tunnel = table.add(8, port, { id: 2, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: clock.now() });
    tunnel.start();
    ask();
    answer();
    await pass(900);
    expect(tunnel.closed).toBe(false);
  });

  test("younger than the phase is closed in its last quarter only: a short session may end by itself before", async () => {
    tunnel = table.add(8, port, { id: 2, address: "a:1", askedAt: 0, dialledAt: 0, openedAt: clock.now() });
    tunnel.start();
    ask();
    answer();
    begin();
    await pass(3_700);
    expect(tunnel.closed).toBe(false);
    await pass(300);
    expect(tunnel.closed).toBe(true);
  });

  test("of which one direction has ended is left to end by itself", async () => {
    ask();
    answer();
    port.near!.onNearEnd();
    begin();
    await pass(PHASE_MS);
    expect(tunnel.closed).toBe(false);
  });

  test("on which nobody has spoken yet is not closed", async () => {
    begin();
    await pass(PHASE_MS);
    expect(tunnel.closed).toBe(false);
  });

  test("is not closed after the end of the phase", async () => {
    ask();
    answer();
    begin();
    phase.end();
    await pass(1_000);
    expect([tunnel.closed, clock.waiting]).toEqual([false, []]);
  });
});
