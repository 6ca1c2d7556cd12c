import { expect, test } from "vitest";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { startTunnelFixture } from "../client/testing/fixture.js";
import { agentServerDisconnected, serverAgentDisconnected } from "../events/channels.js";

test("an agent that is stopped is told from one whose connection was lost", async () => {
  const fixture = await startTunnelFixture();
  const said: string[] = [];
  const over = serverAgentDisconnected.subscribe(({ reason }) => said.push(reason), fixture.server);
  const [stopped] = [await fixture.startAgent(), await fixture.startAgent()];
  await stopped.stop();
  await waitUntil("the server to notice", () => said.length === 1);
  for (const link of fixture.server.board.registry.links()) link.disconnect();
  await waitUntil("the server to notice the other", () => said.length === 2);
  expect(said).toEqual(["it was stopped", "the connection was lost"]);
  over();
  await fixture.close();
});

test("a server that is stopped is no lost connection, for itself and for its agents", async () => {
  const fixture = await startTunnelFixture();
  const agents = [await fixture.startAgent(), await fixture.startAgent()];
  const said: Record<"server" | "agent", string[]> = { server: [], agent: [] };
  const over = [
    serverAgentDisconnected.subscribe(({ reason }) => said.server.push(reason), fixture.server),
    ...agents.map((agent) => agentServerDisconnected.subscribe(({ reason }) => said.agent.push(reason), agent)),
  ];
  fixture.server.destroy();
  await waitUntil("both agents to notice", () => said.agent.length === 2);
  expect(said).toEqual({
    server: Array(2).fill("the server is stopping"),
    agent: Array(2).fill("Unavailable: the server is stopping"),
  });
  for (const end of over) end();
  await fixture.close();
});
