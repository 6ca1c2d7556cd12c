import { expect, test, vi } from "vitest";
import { type Grant, makePayload, TOKEN_LIFE_MS, TokenStore } from "./tokens.js";

const ready = makePayload('{"ignition":{"version":"3.2.0"}}');
const grant = (secret: string): Grant => ({
  secret,
  pool: "clusters/workers",
  payload: () => ready,
});

test("a token is valid for its lifetime and not longer", () => {
  let now = 1_000;
  const tokens = new TokenStore(() => now);
  tokens.admit("a", grant("token-a"));
  now += TOKEN_LIFE_MS - 1;
  expect(tokens.find("a")?.secret).toBe("token-a");
  now += 1;
  expect(tokens.find("a")).toBeUndefined();
  expect(tokens.size).toBe(0);
});

test("a token lives as long as before when the host's clock is set", () => {
  vi.useFakeTimers({ now: 0 });
  try {
    const tokens = new TokenStore();
    tokens.admit("a", grant("token-a"));
    vi.setSystemTime(2 * TOKEN_LIFE_MS);
    expect(tokens.find("a")?.secret).toBe("token-a");
    vi.setSystemTime(-2 * TOKEN_LIFE_MS);
    vi.advanceTimersByTime(TOKEN_LIFE_MS);
    expect(tokens.find("a")).toBeUndefined();
  } finally {
    vi.useRealTimers();
  }
});

test("an empty token is never admitted", () => {
  const tokens = new TokenStore();
  tokens.admit("", grant("token-a"));
  expect(tokens.find("")).toBeUndefined();
});

test("a deleted Secret revokes all its tokens, and no other's", () => {
  const tokens = new TokenStore();
  tokens.admit("new", grant("token-a"));
  tokens.admit("old", grant("token-a"));
  tokens.admit("other", grant("token-b"));
  tokens.revokeSecret("token-a");
  expect([tokens.find("new"), tokens.find("old"), tokens.find("other")?.secret]).toEqual([
    undefined,
    undefined,
    "token-b",
  ]);
});

test("a sweep forgets tokens that have expired", () => {
  let now = 0;
  const tokens = new TokenStore(() => now);
  tokens.admit("a", grant("token-a"), 10);
  tokens.admit("b", grant("token-b"), 20);
  now = 10;
  tokens.sweep();
  expect(tokens.size).toBe(1);
  tokens.revoke("b");
  expect(tokens.size).toBe(0);
});

test("revokeOthers keeps only the tokens that are named", () => {
  const tokens = new TokenStore();
  for (const token of ["first", "second", "third"]) tokens.admit(token, grant("token-a"));
  tokens.admit("of-one", { ...grant("token-a"), worker: "worker-1" });
  tokens.revokeOthers(({ secret, worker }) => secret === "token-a" && worker === undefined, ["second", "third"]);
  expect(["first", "second", "third", "of-one"].filter((token) => tokens.find(token))).toEqual([
    "second",
    "third",
    "of-one",
  ]);
});

test("another payload does not prolong a token's life", () => {
  let now = 0;
  const tokens = new TokenStore(() => now);
  tokens.admit("a", grant("token-a"), 10);
  const other = makePayload("{}");
  now = 5;
  tokens.admit("a", { ...grant("token-a"), payload: () => other }, 10);
  expect(tokens.find("a")?.payload()).toBe(other);
  now = 10;
  expect(tokens.find("a")).toBeUndefined();
});
