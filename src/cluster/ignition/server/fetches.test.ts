import { expect, test } from "vitest";
import { RefusalLimit } from "./fetches.js";

test("an address cannot fill the log: twenty refusals a minute are recorded, and then again in the next minute", () => {
  const limit = new RefusalLimit();
  const recorded = Array.from({ length: 50 }, (_, i) => limit.allows("192.0.2.1", i)).filter(Boolean).length;
  expect(recorded).toBe(20);
  expect(limit.allows("192.0.2.2", 50)).toBe(true);
  expect(limit.allows("192.0.2.1", 60_000)).toBe(true);
});

test("many addresses take bounded memory: the oldest is forgotten, not the newest", () => {
  const limit = new RefusalLimit();
  limit.allows("first of the minute", 0);
  for (let i = 0; i < 20; i++) limit.allows("watched", 30_000);
  for (let i = 0; i < 9_998; i++) limit.allows(`crowd-${i}`, 30_000);
  expect(limit.allows("watched", 60_000)).toBe(false);
  limit.allows("one more", 60_000);
  expect(limit.allows("watched", 60_000)).toBe(false);
  limit.allows("and another", 60_000);
  expect(limit.allows("watched", 60_000)).toBe(true);
});

test("many addresses together cannot fill the log either: a thousand refusals a minute are recorded", () => {
  const limit = new RefusalLimit();
  const crowd = (at: number) => Array.from({ length: 5_000 }, (_, i) => limit.allows(`2001:db8::${i}`, at));
  expect(crowd(0).filter(Boolean)).toHaveLength(1_000);
  expect(crowd(60_000).filter(Boolean)).toHaveLength(1_000);
});
