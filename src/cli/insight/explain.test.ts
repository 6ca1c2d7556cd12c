import { expect, test } from "vitest";
import { choiceLines } from "./explain.js";

const BASE = { address: "10.0.0.7:443", host: "10.0.0.7", considered: [] };

test.each([
  ["no agent", 0, 0, /^Do: Start an agent/],
  ["no agent that fits", 2, 0, /^Do: .*--agent-identifiers.*--proxy-strategies=destHost end with default/],
  ["agents that fit and are passed over", 2, 1, /^Do: See what is said of each agent/],
])("the remedy for %s", (_, agentsConnected, matches, remedy) => {
  const strategies = [{ name: "destHost", keys: 1, matches }];
  expect(choiceLines({ ...BASE, agentsConnected, strategies }).at(-1)).toMatch(remedy);
});
