/** How fast many agents search together, in a simulation: a balancer that chooses by chance, and time that tests make pass. */
import { expect, test } from "vitest";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { seeded } from "../server/testing/seeded.js";
import type { ServerConnection } from "./connect.js";
import { ServerSet } from "./server-set.js";

const STEP_MS = 100;

class Fleet {
  readonly clock = new ManualClock();
  /** The agents that are connected, by server; those behind the balancer are among them. */
  readonly #agents = new Map<string, Set<number>>();
  behind = ["s1", "s2", "s3"];
  attempts = 0;
  readonly #random = seeded(1);
  readonly #sets: ServerSet[];
  readonly #running: Promise<void>[];

  constructor(size: number, capMs: number, saysNumber = true) {
    this.#sets = Array.from({ length: size }, (_, agent) => this.#agent(agent, capMs, saysNumber));
    this.#running = this.#sets.map((set) => set.run());
  }

  #agent(agent: number, capMs: number, saysNumber: boolean): ServerSet {
    return new ServerSet({
      source: {},
      config: {
        ...{ servers: [{ host: "balancer", port: 1 }], syncIntervalMs: 1000, syncIntervalCapMs: capMs },
        ...{ syncForever: true, serverCountSource: "default" },
      },
      runtime: Object.assign(this.clock, { random: this.#random }),
      connect: async () => {
        this.attempts++;
        const serverId = this.behind[Math.floor(this.#random() * this.behind.length)]!;
        const others = this.#connectedTo(serverId);
        const searchers = saysNumber ? others.size + (others.has(agent) ? 0 : 1) : undefined;
        return { serverId, serverCount: 3, searchers, session: { destroy() {} } } as unknown as ServerConnection;
      },
      adopt: ({ serverId }, address) => {
        this.#agents.set(serverId, this.#connectedTo(serverId).add(agent));
        return { serverId, address };
      },
    });
  }

  #connectedTo(serverId: string): Set<number> {
    return this.#agents.get(serverId) ?? new Set();
  }

  async pass(ms: number, stepMs = STEP_MS): Promise<void> {
    for (let left = ms; left > 0; left -= stepMs) {
      this.clock.advance(stepMs);
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /** Attempts a second, of all together. */
  async rate(): Promise<number> {
    const before = this.attempts;
    await this.pass(60_000);
    return (this.attempts - before) / 60;
  }

  /** Seconds until the first agent has found a server that takes the place of the fourth. */
  async #secondsToFind(serverId: string): Promise<number> {
    this.behind = ["s1", "s2", "s3", serverId];
    const since = this.clock.now();
    while (this.#connectedTo(serverId).size === 0 && this.clock.now() - since < 120_000) await this.pass(STEP_MS);
    return (this.clock.now() - since) / 1000;
  }

  async medianSecondsToFind(): Promise<number> {
    const found: number[] = [];
    for (let each = 0; each < 9; each++) found.push(await this.#secondsToFind(`new-${each}`));
    return found.sort((a, b) => a - b)[4]!;
  }

  async end(): Promise<void> {
    for (const set of this.#sets) set.stop();
    await Promise.all(this.#running);
  }
}

/** Until nobody finds anything new and pauses have grown as long as they get. */
const SETTLED_MS = 180_000;

test.each([
  [1, 30_000, SETTLED_MS],
  [2, 30_000, SETTLED_MS],
  [20, 30_000, SETTLED_MS],
  // The longest pause must let them be so slow.
  [1000, 250_000, 1_200_000],
])(
  "%i agents make about four attempts a second together and find a fourth server within seconds",
  async (size, capMs, settledMs) => {
    const fleet = new Fleet(size, capMs);
    await fleet.pass(settledMs, 10 * STEP_MS);
    const rate = await fleet.rate();
    expect(rate).toBeGreaterThan(3);
    expect(rate).toBeLessThan(5);
    expect(await fleet.medianSecondsToFind()).toBeLessThan(3);
    await fleet.end();
  },
);

test("400 agents search no more slowly than --sync-interval-cap says, and no faster than without a number", async () => {
  const rates: number[] = [];
  for (const saysNumber of [true, false]) {
    const fleet = new Fleet(400, 30_000, saysNumber);
    await fleet.pass(SETTLED_MS, 10 * STEP_MS);
    rates.push(await fleet.rate());
    await fleet.end();
  }
  const [paced, unpaced] = rates as [number, number];
  expect(paced).toBeGreaterThan(10);
  expect(paced).toBeLessThan(unpaced * 1.1);
});

test("two agents of servers that give no number make no more than one attempt in five seconds", async () => {
  const fleet = new Fleet(2, 30_000, false);
  await fleet.pass(SETTLED_MS, 10 * STEP_MS);
  expect(await fleet.rate()).toBeLessThan(0.2);
  await fleet.end();
});
