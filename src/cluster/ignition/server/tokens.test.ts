import { expect, test } from "vitest";
import { type Grant, makePayload, TOKEN_LIFE_MS, TokenStore } from "./tokens.js";

const ready = makePayload('{"ignition":{"version":"3.2.0"}}');
const grant = (secret: string): Grant => ({
  secret,
  pool: "clusters/workers",
  payload: () => ready,
});

test("a token is good for its life and not a moment longer", () => {
  let now = 1_000;
  const book = new TokenStore(() => now);
  book.admit("a", grant("token-a"));
  now += TOKEN_LIFE_MS - 1;
  expect(book.find("a")?.secret).toBe("token-a");
  now += 1;
  expect(book.find("a")).toBeUndefined();
  expect(book.size).toBe(0);
});

test("nobody comes in with an empty token", () => {
  const book = new TokenStore();
  book.admit("", grant("token-a"));
  expect(book.find("")).toBeUndefined();
});

test("a Secret that goes takes all its tokens along, and no other's", () => {
  const book = new TokenStore();
  book.admit("new", grant("token-a"));
  book.admit("old", grant("token-a"));
  book.admit("other", grant("token-b"));
  book.revokeSecret("token-a");
  expect([book.find("new"), book.find("old"), book.find("other")?.secret]).toEqual([undefined, undefined, "token-b"]);
});

test("what has run out is forgotten without being asked for", () => {
  let now = 0;
  const book = new TokenStore(() => now);
  book.admit("a", grant("token-a"), 10);
  book.admit("b", grant("token-b"), 20);
  now = 10;
  book.sweep();
  expect(book.size).toBe(1);
  book.revoke("b");
  expect(book.size).toBe(0);
});

test("only the tokens that are named stay, of those that are meant", () => {
  const book = new TokenStore();
  for (const token of ["first", "second", "third"]) book.admit(token, grant("token-a"));
  book.admit("of-one", { ...grant("token-a"), worker: "worker-1" });
  book.revokeOthers(({ secret, worker }) => secret === "token-a" && worker === undefined, ["second", "third"]);
  expect(["first", "second", "third", "of-one"].filter((token) => book.find(token))).toEqual([
    "second",
    "third",
    "of-one",
  ]);
});

test("another payload does not prolong a token's life", () => {
  let now = 0;
  const book = new TokenStore(() => now);
  book.admit("a", grant("token-a"), 10);
  const other = makePayload("{}");
  now = 5;
  book.exchange(
    ({ secret }) => secret === "token-a",
    () => other,
  );
  expect(book.find("a")?.payload()).toBe(other);
  now = 10;
  expect(book.find("a")).toBeUndefined();
});
