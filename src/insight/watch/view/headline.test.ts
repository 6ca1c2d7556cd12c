import { expect, test } from "vitest";
import { failed, ok, warning } from "../../../base/finding.js";
import { headline, placesOf, tabTitle } from "./headline.js";

const found = (check: string, judgement: ReturnType<typeof warning>, subject?: string) => ({
  ...{ check, about: "", ...judgement },
  ...(subject === undefined ? {} : { subject }),
});

test("nothing good is said of a process that was not asked, or does not answer", () => {
  expect(headline(undefined, true)).toMatchObject({ state: "unknown", word: "Asking", causes: [] });
  expect(headline([found("agents", ok("all is well"))], false)).toMatchObject({ state: "unknown", word: "No answer" });
  expect(headline([], true).note).toBe("Nothing wrong was found.");
  expect(headline(undefined, true).note).not.toContain("Nothing wrong");
});

test("the causes are those of the one health, the worst first", () => {
  const slow = found("slow-agents", { ...warning("the agent a answers after 342 ms", ""), short: "a 342 ms" }, "a");
  const { word, causes, note } = headline([slow, found("agents", failed("no agent is connected", ""))], true);
  expect([word, note]).toEqual(["Down", ""]);
  expect(causes.map(({ text }) => text)).toEqual(["no agent is connected", "a 342 ms"]);
});

test("the tab's title names the state and the process, a random ID by its beginning", () => {
  const degraded = headline([found("targets", warning("b:1 fails", ""))], true);
  expect(tabTitle(degraded, { role: "server", id: "server-1" })).toBe("Degraded · server-1 · drawbridge");
  const id = "04f6c06d-5c4e-47e5-b4b7-755c83e78320";
  expect(tabTitle(degraded, { role: "server", id })).toBe("Degraded · server 04f6c06d · drawbridge");
  const place = { host: "cp-1", pid: 4711 };
  expect(tabTitle(degraded, { role: "server", id: "server-1", ...place })).toBe(
    "Degraded · server-1 on cp-1 (pid 4711) · drawbridge",
  );
  expect(tabTitle(degraded, { role: "sidecar", id: "cp-1", ...place })).toBe("Degraded · cp-1 (pid 4711) · drawbridge");
});

test("a finding keeps its place while its words change, and two of one check have two", () => {
  const gone = (message: string) => found("agents-left", warning(message, ""), "node-1.example");
  const one = gone("gone for 1 min");
  const other = gone("gone for 2 min");
  expect(placesOf([one]).get(one)).toBe("finding-agents-left-node-1_example");
  expect(placesOf([other]).get(other)).toBe("finding-agents-left-node-1_example");
  expect(placesOf([one, other]).get(other)).toBe("finding-agents-left-node-1_example-2");
});
