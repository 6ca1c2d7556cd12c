import { expect, test } from "vitest";
import { RefusalLimit } from "./fetches.js";

test("an address fills no log: twenty refusals a minute are recorded, and then again in the next minute", () => {
  const limit = new RefusalLimit();
  const recorded = Array.from({ length: 50 }, (_, i) => limit.allows("192.0.2.1", i)).filter(Boolean).length;
  expect(recorded).toBe(20);
  expect(limit.allows("192.0.2.2", 50)).toBe(true);
  expect(limit.allows("192.0.2.1", 60_000)).toBe(true);
});

test("a crowd of addresses costs bounded memory: the oldest is forgotten, not the newest", () => {
  const limit = new RefusalLimit();
  for (let i = 0; i < 20; i++) limit.allows("newest", 0);
  for (let i = 0; i < 9_999; i++) limit.allows(`crowd-${i}`, 0);
  expect(limit.allows("newest", 1)).toBe(false);
  limit.allows("one more", 1);
  expect(limit.allows("newest", 1)).toBe(true);
});
