import { expect, test } from "vitest";
import { ok, warning } from "../../../base/finding.js";
import { agent } from "../testing/samples.js";
import { peerSeverity, shareSeverity, targetSeverity, troublesOf } from "./severity.js";

const slow = { check: "slow-agents", about: "", ...warning("agent-1 answers after 342 ms", ""), subject: "agent-1" };
const fine = { check: "path", about: "", ...ok("bytes get through"), subject: "agent-2" };

test("an agent that a finding names is not well, one that merely tried a dead target is", () => {
  const troubles = troublesOf([slow, fine]);
  expect(peerSeverity(agent(1), troubles)).toBe("warn");
  expect(peerSeverity(agent(2), troubles)).toBe("good");
});

test("a finding about an address says nothing of an agent whose ID is that address", () => {
  const refused = { check: "refused-peers", about: "", ...warning("a peer was refused", ""), subject: "10.0.3.7" };
  expect(peerSeverity(agent(1, { id: "10.0.3.7" }), troublesOf([refused]))).toBe("good");
});

test("what an agent says of itself counts, too", () => {
  expect(peerSeverity(agent(1, { path: { state: "failing" } }), troublesOf([slow]))).toBe("bad");
  expect(peerSeverity(agent(3, { draining: true }), new Map())).toBe("warn");
});

const since = { failingSinceAt: 1 };

test.each([
  [[5, 5, 0], [5, 5, 0], since, "bad"],
  [[5, 5, 0], [5, 5, 0], {}, "good"],
  [[10, 10, 0], [0, 4, 0], since, "warn"],
  [[10, 10, 0], [0, 4, 0], { recoveries: 2 }, "warn"],
  [[10, 10, 0], [0, 9, 0], { recoveries: 2 }, "warn"],
  [[10, 10, 0], [0, 4, 0], { recoveries: 1 }, "good"],
  [[100, 100, 0], [1, 0, 0], since, "good"],
  [[0, 0, 0], [0, 0, 0], {}, "good"],
  [[1, ...new Array(6).fill(0)], [1, ...new Array(6).fill(0)], since, "unknown"],
] as const)("a target whose dials are %j, failures %j, with %j, is %s", (dials, failures, story, severity) => {
  expect(targetSeverity({ dials, failures, ...story })).toBe(severity);
});

test.each([
  [[5, 5, 0], [5, 5, 0], "bad"],
  [[10, 10, 0], [0, 4, 0], "warn"],
  [[100, 100, 0], [1, 0, 0], "good"],
] as const)("of dials %j and failures %j the share is %s", (dials, failures, severity) => {
  expect(shareSeverity({ dials, failures })).toBe(severity);
});
