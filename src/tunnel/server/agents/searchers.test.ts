import { expect, test } from "vitest";
import { Searchers } from "./searchers.js";

const worker = (agentId: string) => ({ agentId, identifierText: "default-route=true" });
const near = (agentId: string) => ({ agentId, identifierText: "ipv4=10.0.0.1&ipv4=10.0.0.2" });

test("agents with the same identifiers share a search, those with others do not", () => {
  const searchers = new Searchers();
  expect(searchers.with(worker("w0"))).toBe(1);
  for (let each = 0; each < 1000; each++) searchers.add(worker(`w${each}`));
  searchers.add(near("c0"));
  expect(searchers.with(worker("w0"))).toBe(1000);
  expect(searchers.with(worker("new"))).toBe(1001);
  expect(searchers.with(near("c0"))).toBe(1);
  expect(searchers.with(near("c1"))).toBe(2);
});

test("an agent counts once however many streams it has, and until the last of them is gone", () => {
  const searchers = new Searchers();
  searchers.add(worker("a"));
  searchers.add(worker("a"));
  searchers.add(worker("b"));
  expect(searchers.with(worker("c"))).toBe(3);
  searchers.remove(worker("a"));
  expect(searchers.with(worker("c"))).toBe(3);
  searchers.remove(worker("a"));
  expect(searchers.with(worker("c"))).toBe(2);
  searchers.remove(worker("b"));
  expect(searchers.with(worker("c"))).toBe(1);
});

test("where each agent has identifiers of its own, all together search no faster than ten sets do", () => {
  const searchers = new Searchers();
  const own = (each: number) => ({ agentId: `node-${each}`, identifierText: `ipv4=10.0.0.${each}` });
  for (let each = 0; each < 10; each++) searchers.add(own(each));
  expect(searchers.with(own(0))).toBe(1);
  for (let each = 10; each < 200; each++) searchers.add(own(each));
  expect(searchers.with(own(0))).toBe(20);
});
