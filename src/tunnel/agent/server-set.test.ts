import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { noteChannel } from "../events/channels.js";
import type { ServerConnection } from "./connect.js";
import { type ConnectedServer, ServerSet } from "./server-set.js";

interface Plan {
  readonly servers?: readonly string[];
  /** Undefined: nobody counts servers, and each says that there are three. */
  readonly counted?: number | undefined;
  readonly serverCountSource?: "default" | "max";
  readonly syncForever?: boolean;
  /** What is behind each attempt, in order: a server's ID, or an error. The last repeats. */
  readonly behind: (address: string, attempt: number) => string | Error;
  /** What a server says about the agents that share the search. */
  readonly searchers?: (serverId: string) => number | undefined;
  /** Attempts never end. */
  readonly hangs?: boolean;
  /** The middle: every wait is about as long as its interval. */
  readonly random?: () => number;
}

/** The same numbers each time, different ones for each seed. */
function drawnFrom(seed: string): () => number {
  let drawn = 0;
  return () => createHash("sha256").update(`${seed} ${drawn++}`).digest().readUInt32BE(0) / 2 ** 32;
}

/** A set whose attempts a test answers; every attempt and every wait is one step. */
class Bench {
  readonly clock = new ManualClock();
  readonly attempts: string[] = [];
  /** The connected servers that each attempt told of. */
  readonly told: (readonly string[])[] = [];
  readonly destroyed: string[] = [];
  readonly adopted: ConnectedServer[] = [];
  counted: number | undefined;
  readonly set: ServerSet;
  running: Promise<void> | undefined;

  constructor(plan: Plan) {
    const { servers = ["a"], syncForever = false, serverCountSource = "default", behind, hangs = false, random } = plan;
    this.counted = "counted" in plan ? plan.counted : 1;
    this.set = new ServerSet({
      source: this,
      config: {
        servers: servers.map((host) => ({ host, port: 1 })),
        syncIntervalMs: 1000,
        syncIntervalCapMs: 10_000,
        syncForever,
        serverCountSource,
      },
      runtime: Object.assign(this.clock, { random: random ?? (() => 0.5) }),
      countServers: () => this.counted,
      connect: async (server, connected) => {
        this.attempts.push(server.host);
        this.told.push(connected);
        if (hangs) await new Promise(() => {});
        const found = behind(server.host, this.attempts.length);
        if (typeof found !== "string") throw found;
        return {
          serverId: found,
          serverCount: 3,
          searchers: plan.searchers?.(found),
          session: { destroy: () => this.destroyed.push(found) },
        } as unknown as ServerConnection;
      },
      adopt: ({ serverId }, address) => {
        const server = { serverId, address };
        this.adopted.push(server);
        return server;
      },
    });
    this.running = this.set.run();
  }

  /** Lets promises settle, without time passing. */
  async settle(): Promise<void> {
    for (let turn = 0; turn < 10; turn++) await Promise.resolve();
    await new Promise((resolve) => setImmediate(resolve));
  }

  async pass(ms: number): Promise<void> {
    await this.settle();
    for (let left = ms; left > 0; left -= 100) {
      this.clock.advance(Math.min(100, left));
      await this.settle();
    }
  }

  async end(): Promise<void> {
    this.set.stop();
    await this.running;
  }
}

describe("looking for servers", () => {
  test("one server gets one connection, and then no more attempts", async () => {
    const bench = new Bench({ behind: () => "s1" });
    await bench.pass(10_000);
    expect(bench.attempts).toHaveLength(1);
    expect(bench.set.size).toBe(1);
    await bench.end();
  });

  test("several behind one address: one attempt a second until all are found", async () => {
    const bench = new Bench({ counted: 3, behind: (_address, attempt) => `s${((attempt - 1) % 3) + 1}` });
    await bench.pass(2_500);
    expect(bench.adopted.map(({ serverId }) => serverId)).toEqual(["s1", "s2", "s3"]);
    await bench.pass(10_000);
    expect(bench.attempts).toHaveLength(3);
    await bench.end();
  });

  test("what the last server said counts as long as nobody counts servers", async () => {
    const bench = new Bench({ counted: undefined, behind: (_address, attempt) => `s${attempt}` });
    expect(bench.set.wanted).toBe(1);
    await bench.pass(10_000);
    expect([bench.set.wanted, bench.set.size]).toEqual([3, 3]);
    bench.counted = 2;
    expect(bench.set.wanted).toBe(2);
    await bench.end();
  });

  test("with `max` the larger of both numbers counts", async () => {
    const bench = new Bench({ counted: 2, serverCountSource: "max", behind: (_address, attempt) => `s${attempt}` });
    expect(bench.set.wanted).toBe(2);
    await bench.pass(10_000);
    expect(bench.set.wanted).toBe(3);
    bench.counted = 5;
    expect(bench.set.wanted).toBe(5);
    await bench.end();
  });

  test.each([
    ["has said that it goes", "leaveSoon", 500],
    ["is gone", "forget", 1_000],
  ] as const)("the successor of a server that %s is looked for soon enough", async (_name, how, latestMs) => {
    const bench = new Bench({ behind: (_address, attempt) => `s${attempt}` });
    await bench.settle();
    bench.set[how](bench.adopted[0]!);
    await bench.pass(latestMs - 100);
    expect(bench.attempts).toHaveLength(1);
    await bench.pass(200);
    expect(bench.adopted.map(({ serverId }) => serverId)).toEqual(["s1", "s2"]);
    await bench.end();
  });

  test("a duplicate is dropped, and the connection there was stays", async () => {
    const bench = new Bench({ counted: 2, behind: () => "same" });
    await bench.pass(1_500);
    expect(bench.destroyed).toEqual(["same"]);
    expect(bench.set.size).toBe(1);
    await bench.end();
  });

  test("a server is told which are connected, and one of them is a duplicate also if it is lost meanwhile", async () => {
    const bench: Bench = new Bench({
      counted: 3,
      behind: (_address, attempt) => {
        if (attempt === 3) bench.set.forget(bench.adopted[0]!);
        return attempt === 2 ? "s2" : "s1";
      },
    });
    await bench.pass(2_500);
    expect(bench.told).toEqual([[], ["s1"], ["s1", "s2"]]);
    expect([bench.destroyed, bench.set.size]).toEqual([["s1"], 1]);
    await bench.pass(2_500);
    expect(bench.adopted.map(({ serverId }) => serverId)).toEqual(["s1", "s2", "s1"]);
    await bench.end();
  });

  test("an address that only leads to the server of another address is warned of, once", async () => {
    const bench = new Bench({ servers: ["a", "b"], counted: 2, behind: () => "same" });
    const notes: unknown[] = [];
    const end = noteChannel.subscribe(({ fields }) => notes.push(fields), bench);
    await bench.pass(120_000);
    end();
    expect(notes).toEqual([
      expect.objectContaining({ code: "DB_SERVER_ID_TWICE", address: "b:1", connectedAt: "a:1", serverId: "same" }),
    ]);
    await bench.end();
  });

  test("servers behind two addresses of one load balancer are found without a warning", async () => {
    const bench = new Bench({
      ...{ servers: ["a", "b"], counted: 2, behind: (_, attempt) => (attempt < 5 ? "one" : "two") },
    });
    const notes: unknown[] = [];
    const end = noteChannel.subscribe((note) => notes.push(note), bench);
    await bench.pass(120_000);
    end();
    expect([bench.set.size, notes]).toEqual([2, []]);
    await bench.end();
  });

  test("servers that are not there are looked for ever more slowly", async () => {
    const bench = new Bench({ counted: 2, behind: () => "same" });
    await bench.pass(120_000);
    expect(bench.attempts.length).toBeLessThan(40);
    await bench.end();
  });

  test("a connection that is lost is replaced within the usual interval, however slowly others were looked for", async () => {
    const bench = new Bench({ counted: 2, behind: () => "same" });
    await bench.pass(120_000);
    bench.set.forget(bench.adopted[0]!);
    const before = bench.attempts.length;
    await bench.pass(1_200);
    expect(bench.attempts.length).toBeGreaterThan(before);
    await bench.end();
  });

  test("a server's successor is looked for at the usual pace when the server goes, however long ago it announced its end", async () => {
    const bench = new Bench({ behind: (_address, attempt) => (attempt === 1 ? "leaving" : new Error("refused")) });
    await bench.pass(500);
    const [leaving] = bench.adopted;
    bench.set.forget(leaving!);
    await bench.pass(60_000);
    const before = bench.attempts.length;
    bench.set.forget(leaving!);
    await bench.pass(1_200);
    expect(bench.attempts).toHaveLength(before + 1);
    await bench.end();
  });

  test("agents that search in step behind a balancer that takes turns find all servers all the same", async () => {
    let turn = 0;
    const behind = () => `s${turn++ % 3}`;
    const benches = ["x", "y", "z"].map((seed) => new Bench({ counted: 3, behind, random: drawnFrom(seed) }));
    for (let each = 0; each < 300; each++) for (const bench of benches) await bench.pass(100);
    expect(benches.map(({ set }) => set.size)).toEqual([3, 3, 3]);
    for (const bench of benches) await bench.end();
  });

  test("failures back off and success ends it", async () => {
    const bench = new Bench({ behind: (_address, attempt) => (attempt < 5 ? new Error("refused") : "s1") });
    await bench.pass(900);
    expect(bench.attempts).toHaveLength(1);
    await bench.pass(200);
    expect(bench.attempts).toHaveLength(2);
    await bench.pass(1_300);
    expect(bench.attempts).toHaveLength(2);
    await bench.pass(20_000);
    expect(bench.set.size).toBe(1);
    await bench.end();
  });

  test("several addresses: each is tried, those without a connection first", async () => {
    const bench = new Bench({ servers: ["a", "b", "c"], behind: (address) => `id-${address}` });
    await bench.pass(2_500);
    expect(bench.attempts).toEqual(["a", "b", "c"]);
    expect(bench.set.wanted).toBe(3);
    const lost = bench.adopted.find(({ serverId }) => serverId === "id-b")!;
    bench.set.forget(lost);
    await bench.pass(1_100);
    expect(bench.attempts.slice(3)).toEqual(["b"]);
    await bench.end();
  });

  test("one dead address does not keep the others from being found", async () => {
    const bench = new Bench({
      servers: ["dead", "b", "c"],
      behind: (address) => (address === "dead" ? new Error("refused") : `id-${address}`),
    });
    await bench.pass(10_000);
    expect(bench.adopted.map(({ serverId }) => serverId).sort()).toEqual(["id-b", "id-c"]);
    await bench.end();
  });

  test("a wanted number that grows is acted on, one that shrinks drops nothing", async () => {
    const bench = new Bench({ counted: 1, behind: (_address, attempt) => `s${attempt}` });
    await bench.pass(3_000);
    bench.counted = 3;
    await bench.pass(4_000);
    expect(bench.set.size).toBe(3);
    bench.counted = 1;
    await bench.pass(3_000);
    expect([bench.set.size, bench.destroyed.length]).toEqual([3, 0]);
    await bench.end();
  });

  test("--sync-forever goes on looking", async () => {
    const bench = new Bench({ syncForever: true, behind: () => "s1" });
    await bench.pass(5_000);
    expect(bench.attempts.length).toBeGreaterThan(3);
    await bench.end();
  });

  test("draining: no further attempt, and stop ends the loop at once", async () => {
    const bench = new Bench({ behind: () => new Error("refused") });
    await bench.pass(100);
    bench.set.drain();
    await bench.pass(30_000);
    expect(bench.attempts).toHaveLength(1);
    await bench.end();
  });

  test("stop does not wait for an attempt that hangs", async () => {
    const hanging = new Bench({ behind: () => "never", hangs: true });
    await hanging.settle();
    hanging.set.stop();
    let ended = false;
    hanging.running!.then(() => {
      ended = true;
    });
    await hanging.settle();
    expect(ended).toBe(true);
  });
});

describe("the pace of the search", () => {
  /** Attempts in the half minute after the search has become as slow as it gets. */
  async function attemptsOf(plan: Omit<Plan, "behind"> & Partial<Plan>): Promise<number> {
    const bench = new Bench({ syncForever: true, behind: () => "same", ...plan });
    await bench.pass(120_000);
    const before = bench.attempts.length;
    await bench.pass(30_000);
    await bench.end();
    return bench.attempts.length - before;
  }

  test.each<[searchers: number | undefined, attempts: number]>([
    [2, 60],
    [4, 30],
    [12, 10],
    // The longest pause is 10 s, whatever a server says.
    [40, 3],
    [999_999, 3],
    [undefined, 3],
  ])("with %s agents that share it: %i attempts in half a minute", async (searchers, attempts) => {
    expect(Math.abs((await attemptsOf({ searchers: () => searchers })) - attempts)).toBeLessThanOrEqual(1);
  });

  test("is the same while servers are missing", async () => {
    expect(await attemptsOf({ syncForever: false, counted: 2, searchers: () => 4 })).toBeGreaterThan(28);
  });

  test("goes by the largest number of all connected servers: a new one knows few agents yet", async () => {
    const behind = (_address: string, attempt: number) => `s${attempt % 2}`;
    const attempts = await attemptsOf({ behind, searchers: (serverId) => (serverId === "s0" ? 12 : 1) });
    expect(Math.abs(attempts - 10)).toBeLessThanOrEqual(1);
  });

  test("forgets what a server said that is gone", async () => {
    const bench = new Bench({
      syncForever: true,
      behind: (_address, attempt) => (attempt === 1 ? "ours" : "theirs"),
      searchers: (serverId) => (serverId === "ours" ? 1 : undefined),
    });
    await bench.pass(100);
    bench.set.forget(bench.adopted[0]!);
    await bench.pass(120_000);
    const before = bench.attempts.length;
    await bench.pass(30_000);
    expect(bench.attempts.length - before).toBeLessThanOrEqual(4);
    await bench.end();
  });

  test("is kept after one attempt that failed, and slows down while they go on failing", async () => {
    let failing = false;
    const bench = new Bench({
      syncForever: true,
      behind: () => (failing ? new Error("refused") : "same"),
      searchers: () => 1,
    });
    await bench.pass(120_000);
    failing = true;
    await bench.pass(600);
    failing = false;
    const before = bench.attempts.length;
    await bench.pass(2_000);
    expect(bench.attempts.length - before).toBeGreaterThanOrEqual(2);
    failing = true;
    await bench.pass(60_000);
    const failed = bench.attempts.length;
    await bench.pass(30_000);
    expect(bench.attempts.length - failed).toBeLessThanOrEqual(3);
    await bench.end();
  });
});
