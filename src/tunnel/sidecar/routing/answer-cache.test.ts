import { describe, expect, test } from "vitest";
import { AnswerCache, type ResolverAnswer } from "./answer-cache.js";

const NEVER = new AbortController().signal;

function start(entries = 10, timeoutMs = 1_000) {
  const time = { now: 0 };
  const asked: string[] = [];
  let answer: (name: string) => ResolverAnswer | Promise<ResolverAnswer> = () => ({
    addresses: ["10.0.0.1"],
    ttlMs: undefined,
  });
  const cache = new AnswerCache(
    async (name) => {
      asked.push(name);
      return await answer(name);
    },
    {
      ...{ entries, maxMs: 60_000, defaultMs: 5_000, negativeMs: 2_000 },
      ...{ patienceMs: 20, staleMs: 100_000, recheckMs: 3_000 },
      now: () => time.now,
      timeoutMs,
    },
  );
  return { cache, time, asked, answers: (next: typeof answer) => (answer = next) };
}

describe("the cache of a resolver's answers", () => {
  test.each([
    ["its own time", { addresses: ["10.0.0.1"], ttlMs: 1_000 }, 1_000],
    ["the default when it names none", { addresses: ["10.0.0.1"], ttlMs: undefined }, 5_000],
    ["the maximum when its own is longer", { addresses: ["10.0.0.1"], ttlMs: 900_000 }, 60_000],
    ["a short while when there is no address", { addresses: [], ttlMs: 900_000 }, 2_000],
    ["less than that when it says so", { addresses: [], ttlMs: 500 }, 500],
  ] as const)("believes an answer for %s", async (_, given, lifeMs) => {
    const { cache, time, asked, answers } = start();
    answers(() => given);
    await cache.find("a", NEVER);
    time.now = lifeMs - 1;
    expect(await cache.find("A", NEVER)).toEqual(given.addresses);
    expect(asked).toHaveLength(1);
    time.now = lifeMs;
    await cache.find("a", NEVER);
    expect(asked).toHaveLength(2);
  });

  test("does not keep what may be believed for no time at all, nor failures", async () => {
    const { cache, asked, answers } = start();
    answers(() => ({ addresses: ["10.0.0.1"], ttlMs: 0 }));
    await cache.find("a", NEVER);
    answers(() => Promise.reject(new Error("broken")));
    await expect(cache.find("a", NEVER)).rejects.toThrow("broken");
    await expect(cache.find("a", NEVER)).rejects.toThrow("broken");
    expect(asked).toHaveLength(3);
  });

  test("forgets the name that was not asked for the longest", async () => {
    const { cache, asked } = start(2);
    for (const name of ["a", "b", "a", "c", "a", "b"]) await cache.find(name, NEVER);
    expect(asked).toEqual(["a", "b", "c", "b"]);
  });

  test("asks once for all who wait, and one that stops does not stop the others", async () => {
    const { cache, asked, answers } = start();
    let tell: (answer: ResolverAnswer) => void = () => {};
    answers(() => new Promise((resolve) => (tell = resolve)));
    const impatient = new AbortController();
    const first = cache.find("a", impatient.signal);
    const second = cache.find("a", NEVER);
    impatient.abort(new Error("enough"));
    await expect(first).rejects.toThrow("enough");
    tell({ addresses: ["10.0.0.7"], ttlMs: 1 });
    expect(await second).toEqual(["10.0.0.7"]);
    expect(asked).toEqual(["a"]);
  });

  test("asks again for a fresh answer, and when the name was forgotten", async () => {
    const { cache, asked } = start();
    await cache.find("a", NEVER);
    await cache.find("a", NEVER, true);
    cache.forget("A");
    await cache.find("a", NEVER);
    expect(asked).toHaveLength(3);
  });

  test.each([
    ["fails", () => Promise.reject(new Error("broken"))],
    ["does not answer", () => new Promise<never>(() => {})],
  ])("uses what is known further while the resolver %s, and asks again a while later", async (_, silent) => {
    const { cache, time, asked, answers } = start();
    await cache.find("a", NEVER);
    answers(silent);
    for (const now of [5_000, 7_999]) {
      time.now = now;
      expect(await cache.find("a", NEVER)).toEqual(["10.0.0.1"]);
    }
    expect(asked).toHaveLength(2);
  });

  test("a new answer counts as soon as it is there, although the one before was given meanwhile", async () => {
    const { cache, time, answers } = start();
    await cache.find("a", NEVER);
    let tell: (answer: ResolverAnswer) => void = () => {};
    answers(() => new Promise((resolve) => (tell = resolve)));
    time.now = 5_000;
    expect(await cache.find("a", NEVER)).toEqual(["10.0.0.1"]);
    tell({ addresses: ["10.0.0.2"], ttlMs: undefined });
    await expect.poll(() => cache.find("a", NEVER)).toEqual(["10.0.0.2"]);
  });

  test("a new answer that comes at once is given instead of the one before", async () => {
    const { cache, time, answers } = start();
    await cache.find("a", NEVER);
    answers(() => ({ addresses: ["10.0.0.2"], ttlMs: undefined }));
    time.now = 5_000;
    expect(await cache.find("a", NEVER)).toEqual(["10.0.0.2"]);
  });

  test("what is known is not used for ever, nor when it said that there is no such name", async () => {
    const { cache, time, answers } = start();
    await cache.find("a", NEVER);
    answers(() => ({ addresses: [], ttlMs: undefined }));
    await cache.find("b", NEVER);
    answers(() => Promise.reject(new Error("broken")));
    time.now = 105_000;
    await expect(cache.find("a", NEVER)).rejects.toThrow("broken");
    await expect(cache.find("b", NEVER)).rejects.toThrow("broken");
  });

  test("a caller that stops while the resolver is silent gets no answer", async () => {
    const { cache, time, answers } = start();
    await cache.find("a", NEVER);
    answers(() => new Promise(() => {}));
    time.now = 5_000;
    const impatient = new AbortController();
    const found = cache.find("a", impatient.signal);
    impatient.abort(new Error("enough"));
    await expect(found).rejects.toThrow("enough");
  });

  test("gives a query up after its timeout", async () => {
    const { cache, answers } = start(10, 20);
    answers(() => new Promise(() => {}));
    await expect(cache.find("a", NEVER)).rejects.toThrow("no answer within 20 ms");
  });
});
