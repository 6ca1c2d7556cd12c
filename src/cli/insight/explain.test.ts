import { expect, test } from "vitest";
import { choiceLines, explainRefusal, refusalText } from "./explain.js";

const BASE = { address: "10.0.0.7:443", host: "10.0.0.7", considered: [] };

test.each([
  ["no agent", 0, 0, /^Do: Start an agent/],
  [
    "no agent that fits",
    2,
    0,
    /^Do: .*--agent-identifiers.*--proxy-strategies=destHost end with defaultRoute and give default-route=true/,
  ],
  ["agents that fit and are passed over", 2, 1, /^Do: See what is said of each agent/],
])("the remedy for %s", (_, agentsConnected, matches, remedy) => {
  const strategies = [{ name: "destHost", keys: 1, matches }];
  expect(choiceLines({ ...BASE, agentsConnected, strategies }).at(-1)).toMatch(remedy);
});

test("a reference is looked up among the refusals, and where it is not known, it is said where to look", async () => {
  const refusal = { id: "00a96c2d", at: 0, target: "10.0.0.7:443", why: "No agent is connected." };
  const explained = { ...refusal, explanation: { ...BASE, agentsConnected: 0, strategies: [] } };
  const asked: string[] = [];
  const port = (answer: object | undefined) => ({
    address: "127.0.0.1:8095",
    find: async <T>(route: string) => {
      asked.push(route);
      return answer as T | undefined;
    },
  });
  expect(await explainRefusal(port(explained), "00a96c2d")).toBe(explained);
  expect(asked).toEqual(["refusals/00a96c2d"]);
  expect(refusalText(explained)).toBe(
    [
      "00a96c2d: 10.0.0.7:443 was refused at 1970-01-01T00:00:00.000Z: No agent is connected.",
      "Do: Start an agent; one that runs says in its log why it is not connected.",
      "",
    ].join("\n"),
  );
  expect(await explainRefusal(port(undefined), "00a96c2d")).toMatchObject({
    possible: false,
    why: expect.stringMatching(/knows no refusal of this reference.*Look for the reference in the servers' logs/),
  });
});
