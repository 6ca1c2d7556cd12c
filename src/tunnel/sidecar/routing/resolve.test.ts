import { beforeEach, describe, expect, test } from "vitest";
import type { ResolverName } from "../config.js";
import { ANSWER_LIFE, AnswerCache } from "./answer-cache.js";
import { FallbackState, NameResolver } from "./name-resolution.js";

const NEVER = new AbortController().signal;

type Asked = Exclude<ResolverName, "agent">;
type Behaviour = readonly string[] | Error | Promise<readonly string[]>;

let now: number;
let asked: Asked[];
let say: Record<Asked, Behaviour>;

beforeEach(() => {
  now = 0;
  asked = [];
  say = { local: [], services: [], "cluster-dns": [] };
});

function cacheOf(resolver: Asked): AnswerCache {
  const ask = async () => {
    asked.push(resolver);
    const answer = await say[resolver];
    if (answer instanceof Error) throw answer;
    return { addresses: answer, ttlMs: undefined };
  };
  const cache = { ...ANSWER_LIFE, maxMs: 1_000_000, defaultMs: 1_000_000, negativeMs: 0 };
  return new AnswerCache(ask, { ...cache, now: () => now, timeoutMs: 5_000 });
}

function resolver(order: readonly ResolverName[], { fallback = false, preferIpv4 = false } = {}) {
  const state = new FallbackState(() => now);
  const caches = { local: cacheOf("local"), services: cacheOf("services"), "cluster-dns": cacheOf("cluster-dns") };
  const names = new NameResolver({ order, preferIpv4, caches, fallback: fallback ? state : undefined });
  return { state, find: (name = "a.b") => names.resolve(name, NEVER) };
}

describe("resolvers in order", () => {
  test("asks one after the other until one knows the name", async () => {
    say["cluster-dns"] = ["10.0.0.1"];
    expect(await resolver(["services", "cluster-dns", "local"]).find()).toEqual(["10.0.0.1"]);
    expect(asked).toEqual(["services", "cluster-dns"]);
  });

  test("asks the next resolver when one fails", async () => {
    say.services = new Error("forbidden");
    say.local = ["10.0.0.2"];
    expect(await resolver(["services", "local"]).find()).toEqual(["10.0.0.2"]);
  });

  test("leaves the name to the agent, and asks no resolver after it", async () => {
    expect(await resolver(["services", "agent", "local"]).find()).toBe("agent");
    expect(asked).toEqual(["services"]);
  });

  test("lists all resolvers when none knows the name, as a name failure", async () => {
    const found = resolver(["services", "local"]).find("nosuch.name");
    await expect(found).rejects.toMatchObject({
      kind: "name",
      code: "DB_SIDECAR_NAME",
      message: "no address was found for nosuch.name (services: no such name; local: no such name).",
    });
  });

  test("reports a path failure when a resolver that might know the name fails", async () => {
    say["cluster-dns"] = new Error("the tunnel is down.");
    const found = resolver(["services", "cluster-dns"]).find();
    await expect(found).rejects.toMatchObject({
      kind: "path",
      message: "no address was found for a.b (services: no such name; cluster-dns: the tunnel is down).",
    });
  });

  test("keeps only IPv4 when that is preferred and there is some", async () => {
    say.local = ["fd00::1", "10.0.0.1", "fd00::2"];
    const { find } = resolver(["local"], { preferIpv4: true });
    expect(await find()).toEqual(["10.0.0.1"]);
    say.local = ["fd00::1"];
    expect(await find("only.v6")).toEqual(["fd00::1"]);
    expect(await resolver(["local"]).find()).toEqual(["fd00::1"]);
  });
});

describe("the fallback", () => {
  const order = ["services", "cluster-dns"] as const;

  test("begins when the cluster's DNS cannot be asked and this host's knows the name", async () => {
    say["cluster-dns"] = new Error("down");
    say.local = ["192.0.2.1"];
    const { find, state } = resolver(order, { fallback: true });
    expect(await find()).toBe("direct");
    expect(state.active).toBe(true);
  });

  test("does not begin when neither knows the name", async () => {
    say["cluster-dns"] = new Error("down");
    const { find, state } = resolver(order, { fallback: true });
    await expect(find()).rejects.toMatchObject({ code: "DB_SIDECAR_NAME", kind: "path" });
    expect(state.active).toBe(false);
  });

  test("does not begin for a name that only this host knows, which is dialled from here alone", async () => {
    say.local = ["192.0.2.1"];
    const { find, state } = resolver(order, { fallback: true });
    expect(await find()).toBe("direct");
    expect(state.active).toBe(false);
  });

  test("leaves the tunnel alone for 30 s, then lets one name try it, and ends when that works", async () => {
    say["cluster-dns"] = new Error("down");
    say.local = ["192.0.2.1"];
    const { find, state } = resolver(order, { fallback: true });
    await find();
    asked = [];
    now = 29_999;
    expect(await find("other.name")).toBe("direct");
    expect(asked).toEqual(["services"]);
    now = 30_000;
    let answer: (addresses: readonly string[]) => void = () => {};
    say["cluster-dns"] = new Promise((resolve) => (answer = resolve));
    const trying = find("first.name");
    await new Promise(setImmediate);
    expect(await find("second.name")).toBe("direct");
    answer(["10.0.0.1"]);
    expect(await trying).toEqual(["10.0.0.1"]);
    expect(state.active).toBe(false);
  });

  test("is not ended by a cached answer", async () => {
    say["cluster-dns"] = ["10.0.0.1"];
    say.local = ["192.0.2.1"];
    const { find, state } = resolver(order, { fallback: true });
    await find("known.name");
    say["cluster-dns"] = new Error("down");
    await find("new.name");
    expect(state.active).toBe(true);
    now = 30_000;
    expect(await find("known.name")).toBe("direct");
    expect(state.active).toBe(true);
  });
});
