/** Floods of tokens against the review queue: what the API server is asked, and when an honest agent gets in. */
import { describe, expect, test } from "vitest";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { seeded } from "../testing/seeded.js";
import { ReviewQueue, type TokenSender } from "./review-queue.js";

/** A review takes this long unless it is abandoned. */
const REVIEW_MS = 20;

function world(options: { qps?: number; burst?: number } = {}) {
  const clock = new ManualClock();
  const asked: { token: string; at: number }[] = [];
  const abandoned: string[] = [];
  let underWay = 0;
  let most = 0;
  const queue = new ReviewQueue<string>({
    ...{ runtime: Object.assign(clock, { random: seeded(12) }), qps: 0, burst: 0, ...options },
    review: (token, signal) => {
      asked.push({ token, at: clock.now() });
      most = Math.max(most, ++underWay);
      return new Promise((resolve) => {
        const done = () => {
          underWay--;
          resolve(`verdict on ${token}`);
        };
        const cancel = clock.after(REVIEW_MS, done);
        signal.addEventListener("abort", () => {
          cancel();
          underWay--;
          abandoned.push(token);
        });
      });
    },
  });
  let tokens = 0;
  /** A token nobody has asked about before, on a connection of its own unless told otherwise. */
  function ask(sender: Partial<TokenSender> = {}, { token = `token-${++tokens}`, wasAccepted = false } = {}) {
    const own = new AbortController();
    const result = { token, state: "waiting", stop: () => own.abort() };
    queue.ask(token, token, wasAccepted, { connection: {}, remote: "10.0.0.1:1", signal: own.signal, ...sender }).then(
      (verdict) => {
        result.state = verdict;
      },
      (reason: Error) => {
        result.state = reason.message;
      },
    );
    return result;
  }
  /** Time goes by in steps, and promises are kept in between. */
  async function pass(ms: number, during: () => void = () => {}): Promise<void> {
    for (let gone = 0; gone < ms; gone += 10) {
      during();
      clock.advance(10);
      for (let turn = 0; turn < 5; turn++) await Promise.resolve();
    }
  }
  const isReviewed = (result: { token: string; state: string }) => result.state === `verdict on ${result.token}`;
  return { clock, ask, pass, asked, abandoned, isReviewed, most: () => most };
}

describe("an honest agent has its token reviewed within a second while", () => {
  test("one connection sends 10,000 tokens and more", async () => {
    const { ask, pass, isReviewed } = world();
    const flood = { connection: {} };
    for (let n = 0; n < 10_000; n++) ask(flood);
    await pass(500, () => ask(flood));
    const honest = ask();
    await pass(1_000, () => ask(flood));
    expect(isReviewed(honest)).toBe(true);
  });

  test("2,000 connections of another address send, and connect again and again", async () => {
    const { ask, pass, isReviewed } = world();
    const attack = () => ask({ remote: "192.0.2.66:4711" });
    for (let n = 0; n < 2_000; n++) attack();
    await pass(500, attack);
    const honest = ask();
    await pass(1_000, attack);
    expect(isReviewed(honest)).toBe(true);
  });

  test("a whole IPv6 network sends", async () => {
    const { ask, pass, isReviewed } = world();
    let host = 0;
    const attack = () => ask({ remote: `2001:db8::${(++host).toString(16)}:4711` });
    for (let n = 0; n < 2_000; n++) attack();
    await pass(500, attack);
    const honest = ask({ remote: "2001:db8:1::1:4711" });
    await pass(1_000, attack);
    expect(isReviewed(honest)).toBe(true);
  });

  test("200 connections of the same address send as often as they may: it comes from behind the same balancer", async () => {
    const { ask, pass, isReviewed } = world();
    const connections = Array.from({ length: 200 }, () => ({ connection: {} }));
    let next = 0;
    const attack = () => ask(connections[next++ % connections.length]);
    // Until each of them has had a review.
    await pass(9_000, attack);
    const honest = ask();
    await pass(1_000, attack);
    expect(isReviewed(honest)).toBe(true);
  });

  test("its token was good before, whatever strangers behind the same balancer do", async () => {
    const { ask, pass, isReviewed } = world();
    for (let n = 0; n < 2_000; n++) ask();
    await pass(500, () => ask());
    const honest = ask({}, { token: "good before", wasAccepted: true });
    await pass(1_000, () => ask());
    expect(isReviewed(honest)).toBe(true);
  });
});

test.each<[string, (attacker: number) => string]>([
  ["of its address", () => "10.0.0.1:1"],
  ["each of a network of its own", (attacker) => `2001:db8:${attacker.toString(16)}::1:4711`],
])(
  "an agent that comes every second gets in within a minute beside 100 new connections a second, %s",
  async (_, from) => {
    const flooded = world();
    const { pass, isReviewed } = flooded;
    let attackers = 0;
    const ask = (remote = from(++attackers)) => flooded.ask({ remote });
    // Others of its address were there before.
    ask("10.0.0.1:1");
    await pass(5_000, () => ask());
    const attempts: ReturnType<typeof ask>[] = [];
    while (attempts.length < 60 && !attempts.some(isReviewed)) {
      attempts.at(-1)?.stop();
      // Not always at the same place among the others.
      await pass(10 * (attempts.length % 7), () => ask());
      attempts.push(ask("10.0.0.1:1"));
      await pass(1_000, () => ask());
    }
    expect(attempts.some(isReviewed)).toBe(true);
  },
);

describe("the API server", () => {
  test("is asked 40 times at once and 20 times a second, however many come, and by ten at a time", async () => {
    const { ask, pass, asked, most } = world();
    for (let n = 0; n < 500; n++) ask();
    await pass(5_000, () => ask());
    expect(asked.length).toBeGreaterThan(130);
    expect(asked.length).toBeLessThanOrEqual(40 + 20 * 5 + 1);
    expect(most()).toBe(10);
  });

  test("is asked at the full rate for a single address when nobody else waits", async () => {
    const { ask, pass, asked } = world();
    const agents = Array.from({ length: 200 }, () => ask());
    await pass(9_000);
    expect(agents.every(({ state }) => state.startsWith("verdict"))).toBe(true);
    expect(asked).toHaveLength(200);
  });

  test("is not asked about a stream that was reset", async () => {
    const { ask, pass, asked } = world({ qps: 20, burst: 1 });
    ask();
    const [kept, reset] = [ask({}, { token: "kept" }), ask({}, { token: "reset" })];
    reset.stop();
    await pass(1_000);
    expect(asked.map(({ token }) => token)).toEqual(["token-1", "kept"]);
    expect([kept.state, reset.state]).toEqual(["verdict on kept", expect.stringContaining("the stream ended")]);
  });

  test("is told to forget a review that nobody waits for any more, and the next one begins", async () => {
    const { ask, pass, asked, abandoned } = world({ qps: -1 });
    const first = Array.from({ length: 10 }, () => ask());
    const next = ask({}, { token: "next" });
    expect(asked).toHaveLength(10);
    first[3]!.stop();
    expect(abandoned).toEqual([first[3]!.token]);
    expect(asked.at(-1)?.token).toBe("next");
    await pass(100);
    expect(next.state).toBe("verdict on next");
  });

  test("is asked once for all who wait with the same token, and goes on while one of them does", async () => {
    const { ask, pass, asked, abandoned } = world({ qps: 20, burst: 1 });
    ask();
    const same = Array.from({ length: 50 }, () => ask({}, { token: "same" }));
    same[0]!.stop();
    await pass(60);
    same[1]!.stop();
    const late = ask({}, { token: "same" });
    await pass(100);
    expect([asked.map(({ token }) => token), abandoned]).toEqual([["token-1", "same"], []]);
    expect([...same.slice(2), late].every(({ state }) => state === "verdict on same")).toBe(true);
  });
});

describe("the bounds of the review queue", () => {
  test("one connection has eight tokens under review at most, and others when these are done", async () => {
    const { ask, pass } = world({ qps: 1, burst: 1 });
    const connection = {};
    const all = Array.from({ length: 9 }, () => ask({ connection }));
    await pass(10);
    expect(all.map(({ state }) => state).filter((state) => /may have 8 tokens/.test(state))).toHaveLength(1);
    all[5]!.stop();
    const another = ask({ connection });
    await pass(10);
    expect(another.state).toBe("waiting");
  });

  test("1,024 wait at most; one of the address with most of them goes, and a newcomer stays", async () => {
    const { ask, pass } = world({ qps: 1, burst: 1 });
    ask();
    const few = Array.from({ length: 10 }, () => ask({ remote: "10.0.0.2:1" }));
    const known = ask({}, { token: "known", wasAccepted: true });
    const many = Array.from({ length: 1_013 }, () => ask());
    await pass(10);
    const newcomer = ask();
    await pass(10);
    const dropped = many.filter(({ state }) => state !== "waiting");
    expect(dropped.map(({ state }) => state)).toEqual([expect.stringContaining("too many tokens wait")]);
    expect([...few, known, newcomer].every(({ state }) => state === "waiting")).toBe(true);
  });

  test("nobody waits longer than thirty seconds, and a review that takes longer is abandoned", async () => {
    const clock = new ManualClock();
    const signals: AbortSignal[] = [];
    const review = (_token: string, signal: AbortSignal) => {
      signals.push(signal);
      return new Promise<never>(() => {});
    };
    const queue = new ReviewQueue<string>({ runtime: clock, qps: 1, burst: 1, review });
    const sender = () => ({ connection: {}, remote: "10.0.0.1:1", signal: new AbortController().signal });
    const both = ["a", "b"].map((token) => queue.ask(token, token, false, sender()));
    const outcomes = Promise.allSettled(both);
    clock.advance(30_000);
    for (const outcome of await outcomes) {
      expect(outcome).toMatchObject({
        status: "rejected",
        reason: { code: "DB_TOKEN_REVIEW", message: expect.stringContaining("30 s") },
      });
    }
    expect(signals.map(({ aborted }) => aborted)).toEqual([true, true]);
    clock.advance(30_000);
    expect(clock.waiting).toEqual([]);
  });
});
