import { expect, test } from "vitest";
import { ok, warning } from "../../../base/finding.js";
import { agent } from "../testing/samples.js";
import { peerMood, targetMood, troublesOf } from "./moods.js";

const slow = { check: "slow-agents", about: "", ...warning("agent-1 answers after 342 ms", ""), subject: "agent-1" };
const fine = { check: "path", about: "", ...ok("bytes get through"), subject: "agent-2" };

test("an agent that a finding names is not well, one that merely tried a dead target is", () => {
  const troubles = troublesOf([slow, fine]);
  expect(peerMood(agent(1), troubles)).toBe("warn");
  expect(peerMood(agent(2), troubles)).toBe("good");
});

test("what an agent says of itself counts, too", () => {
  expect(peerMood(agent(1, { path: { state: "failing" } }), troublesOf([slow]))).toBe("bad");
  expect(peerMood(agent(3, { draining: true }), new Map())).toBe("warn");
});

test.each([
  [[5, 5, 0], [5, 5, 0], "bad"],
  [[10, 10, 0], [0, 4, 0], "warn"],
  [[100, 100, 0], [1, 0, 0], "good"],
  [[0, 0, 0], [0, 0, 0], "good"],
] as const)("a target whose dials are %j and failures %j is %s", (dials, failures, mood) => {
  expect(targetMood({ dials, failures })).toBe(mood);
});
