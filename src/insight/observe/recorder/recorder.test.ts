import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { noteChannel, serverPathChecked } from "../../../tunnel/events/channels.js";
import { FlightHistory } from "../../../tunnel/link/flight-recorder.js";
import { PacketMeter, SegmentCounters } from "../../../tunnel/link/packet-meter.js";
import { dumpOnCrash, dumpOnStall, writeDump } from "./dumps.js";
import { flightText } from "./flight-text.js";

let clock: ManualClock;
let book: FlightHistory;
beforeEach(() => {
  clock = new ManualClock(Date.UTC(2030, 0, 1));
  book = new FlightHistory(clock);
});

/** One link's two directions. */
function link(key = 1, peer = "node-1") {
  const witness = book.open(key, peer);
  return {
    sent: new PacketMeter(new SegmentCounters(), "sent", witness),
    received: new PacketMeter(new SegmentCounters(), "received", witness),
  };
}

/** A dial, some bytes, an answer that never comes. */
function talk({ sent, received }: ReturnType<typeof link>): void {
  sent.turn();
  sent.control({ type: "DIAL_REQ", protocol: "tcp", address: "secret.example:443", random: 0x1234_1a2b_3c4dn });
  clock.advance(1.5);
  received.turn();
  received.control({ type: "DIAL_RSP", error: "", connectId: 7, random: 0x1234_1a2b_3c4dn });
  clock.advance(10);
  sent.turn();
  sent.data(7, 16);
  received.control({ type: "DIAL_RSP", error: "no such host", connectId: 0, random: 9n });
  sent.control({ type: "CREDIT", connectId: 7, bytes: 65_536 });
  clock.advance(2_000);
}

test("a flight record has types, connections, lengths and directions, and no payload", () => {
  talk(link());
  const record = book.find(1)!;
  expect(record).toMatchObject({ key: 1, peer: "node-1", packets: 5, at: Date.UTC(2030, 0, 1) + 2012 });
  expect(record.last).toEqual([
    { agoMs: 2011.5, direction: "sent", type: "DIAL_REQ", dial: "1a2b3c4d" },
    { agoMs: 2010, direction: "received", type: "DIAL_RSP", connectId: 7, dial: "1a2b3c4d" },
    { agoMs: 2000, direction: "sent", type: "DATA", connectId: 7, bytes: 16 },
    { agoMs: 2000, direction: "received", type: "DIAL_RSP", dial: "00000009" },
    { agoMs: 2000, direction: "sent", type: "CREDIT", connectId: 7, bytes: 65_536 },
  ]);
  expect(record.totals).toContainEqual({ direction: "sent", type: "DATA", packets: 1, bytes: 16 });
  expect(JSON.stringify(record)).not.toContain("secret");
});

test("a flight record can be printed as text", () => {
  talk(link(1, "node\u001b[2J-1"));
  book.close(1);
  expect(
    flightText(book.find(1)!),
  ).toBe(`link 1 with node\ufffd[2J-1, since 2030-01-01T00:00:00.000Z, gone since 2030-01-01T00:00:02.012Z
the last 5 of 5 packets, the newest at the bottom: seconds before 2030-01-01T00:00:02.012Z, seconds
after the line above, -> sent, <- received

   -2.011500               -> DIAL_REQ      dial 1a2b3c4d
   -2.010000    +0.001500  <- DIAL_RSP      dial 1a2b3c4d, connection 7
   -2.000000    +0.010000  -> DATA          connection 7, 16 bytes
   -2.000000    +0.000000  <- DIAL_RSP      dial 00000009, failed
   -2.000000    +0.000000  -> CREDIT        connection 7, 65536 bytes

in all -> 1 DIAL_REQ, 1 DATA (16 bytes), 1 CREDIT
in all <- 2 DIAL_RSP
`);
});

test("a flight record keeps the last 512 packets, in order, and counts all", () => {
  const { sent, received } = link();
  for (let each = 0; each < 10_000; each++) (each % 2 ? sent : received).data(each, each);
  const { last, packets, totals } = book.find(1)!;
  expect([last.length, last[0]?.connectId, last.at(-1)?.connectId, packets]).toEqual([512, 9488, 9999, 10_000]);
  expect(totals.map((total) => total.packets)).toEqual([5000, 5000]);
});

test("the last eight links that ended are remembered", () => {
  for (let key = 1; key <= 10; key++) link(key);
  for (let key = 1; key <= 9; key++) book.close(key);
  expect(book.list().map(({ key }) => key)).toEqual([10, 2, 3, 4, 5, 6, 7, 8, 9]);
  expect([book.find(1), book.find(2)?.closedAt]).toEqual([undefined, Date.UTC(2030, 0, 1)]);
});

describe("dump files", () => {
  let folder: string;
  let dumps: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "drawbridge-flight-"));
    dumps = join(folder, "dumps");
  });
  afterEach(() => rmSync(folder, { recursive: true }));
  const names = () => readdirSync(dumps);

  test("are readable by their owner only, and ten at most", () => {
    const written = Array.from({ length: 14 }, (_, index) => writeDump(dumps, `dump ${index}`, []).file!);
    expect(names()).toHaveLength(10);
    expect(statSync(written.at(-1)!).mode & 0o777).toBe(0o600);
    expect(readFileSync(written.at(-1)!, "utf8")).toMatch(/^dump 13\n/);
    expect(names().some((name) => written[3]!.endsWith(name))).toBe(false);
  });

  test("are kept when they are new though the host's clock was set back", () => {
    vi.useFakeTimers({ now: Date.UTC(2031, 0, 1), toFake: ["Date"] });
    try {
      for (let index = 0; index < 10; index++) writeDump(dumps, `dump ${index}`, []);
      vi.setSystemTime(Date.UTC(2030, 11, 31));
      const { file = "" } = writeDump(dumps, "the newest", []);
      expect(readFileSync(file, "utf8")).toContain("the newest");
      expect(readdirSync(dumps)).toHaveLength(10);
    } finally {
      vi.useRealTimers();
    }
  });

  test("that cannot be written are reported in a sentence", () => {
    const { error } = writeDump(join(folder, "not", "there"), "why", []);
    expect(error).toMatchObject({ code: "DB_DUMP", message: expect.stringMatching(/cannot be written into .*ENOENT/) });
  });

  test("are written once for a path that fails, and the log names them", () => {
    talk(link(3, "node-3"));
    const source = {};
    const notes: object[] = [];
    const endings = [
      noteChannel.subscribe(({ fields }) => notes.push(fields!), source),
      dumpOnStall(source, book, dumps, clock),
    ];
    const check = (failures: number) =>
      serverPathChecked.publish({
        source,
        agentId: "node-3",
        stream: 3,
        failures,
        failuresBefore: 0,
        error: "silence",
      });
    check(1);
    check(2);
    for (const end of endings) end();
    expect(notes).toEqual([
      {
        agentId: "node-3",
        stream: 3,
        lastPackets: expect.arrayContaining(["-> DATA connection 7, 16 bytes"]),
        file: join(dumps, names()[0]!),
      },
    ]);
    expect(readFileSync(join(dumps, names()[0]!), "utf8")).toContain("link 3 with node-3");
  });

  test("have every link's last packets after a crash, and no secret of its message", () => {
    talk(link(1, "node-1"));
    talk(link(2, "node-2"));
    const end = dumpOnCrash(book, dumps);
    (process as NodeJS.EventEmitter).emit("uncaughtExceptionMonitor", new Error("Bearer abcdef was in the way"));
    end();
    const text = readFileSync(join(dumps, names()[0]!), "utf8");
    expect(text).toMatch(/^the process crashed: Bearer \[removed\] was in the way\n/);
    expect(text).toContain("link 1 with node-1");
    expect(text).toContain("link 2 with node-2");
  });
});
