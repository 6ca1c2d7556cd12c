/** What each value of --readiness makes of agents that only some strategies can use. */
import { afterEach, expect, test } from "vitest";
import { serverMetrics } from "../../src/insight/observe/metrics/server-metrics.js";
import { ObservedServer } from "../../src/insight/observe/roles/server.js";
import type { ReadinessRule } from "../../src/tunnel/server/config.js";
import { strategyCountsIn } from "../../src/tunnel/server/strategy-counts.js";
import { waitUntil } from "../support/processes/deadline.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { rawAgent } from "./fixture/grpc.js";

let fixture: Fixture;
afterEach(() => fixture.close());

const ONE_HOST = "ipv4=10.0.0.1";
const ANY_HOST = "default-route=true";
const lacks = (what: string, rule: ReadinessRule) =>
  `1 agent is connected, but it lacks the identifiers that the strategy ${what} looks for (--readiness=${rule})`;

test.each<[rule: ReadinessRule, identifiers: string, reason: string | undefined]>([
  ["agents", ONE_HOST, undefined],
  ["agents", ANY_HOST, lacks("destHost", "agents")],
  ["any", ONE_HOST, undefined],
  ["any", ANY_HOST, undefined],
  ["any", "nothing", lacks("destHost, defaultRoute", "any")],
  ["all", ONE_HOST, lacks("defaultRoute", "all")],
  ["all", `${ONE_HOST}&${ANY_HOST}`, undefined],
])("--readiness=%s with an agent that claims %s", async (readiness, agentidentifiers, reason) => {
  fixture = await openFixture({ agents: 0, server: { strategies: ["destHost", "defaultRoute"], readiness } });
  const { server } = fixture;
  expect([server.ready, server.unreadyReason]).toEqual([false, undefined]);
  const agent = rawAgent(fixture, {
    agentid: "a",
    agentidentifiers: agentidentifiers === "nothing" ? "" : agentidentifiers,
  });
  await waitUntil("the agent to be in", () => server.board.registry.size === 1);
  expect([server.ready, server.unreadyReason]).toEqual([reason === undefined, reason]);
  const counts = [
    { name: "destHost", agents: agentidentifiers.includes(ONE_HOST) ? 1 : 0 },
    { name: "defaultRoute", agents: agentidentifiers.includes(ANY_HOST) ? 1 : 0 },
  ];
  expect(new ObservedServer(server).process().strategyCounts).toEqual(counts);
  expect(strategyCountsIn(serverMetrics(server, server.readings()).registry.text())).toEqual(counts);
  agent.close();
});
