/** What an agent's readiness asks for: any server, or all it looks for. */
import { afterEach, expect, test } from "vitest";
import { type Fixture, openFixture } from "../../../test/processes/fixture/fixture.js";
import { waitUntil } from "../../../test/support/processes/deadline.js";
import { freePort } from "../../../test/support/processes/ports.js";
import { ProxyServer } from "../server/server.js";

let fixture: Fixture;
const servers: ProxyServer[] = [];
afterEach(async () => {
  for (const server of servers.splice(0)) server.destroy();
  await fixture.close();
});

test("with all an agent is ready once it has as many servers as it looks for, and says how many it has", async () => {
  fixture = await openFixture({ agents: 0 });
  const port = await freePort();
  const both = [fixture.agentPort, port].map((each) => ({ host: "127.0.0.1", port: each }));
  const [any, all] = [
    fixture.launchAgent({ agentId: "any", servers: both }),
    fixture.launchAgent({ agentId: "all", servers: both, readyWith: "all" }),
  ];
  await waitUntil("both to have their first server", () => any.ready && all.missingServers !== undefined);
  expect(all.ready).toBe(false);
  expect(all.unreadyReason).toMatch(/^1 of 2 servers connected \(--ready-with=all\)/);
  const { config } = fixture.server;
  const second = new ProxyServer({ ...config, serverId: "second", listeners: [], agents: { ...config.agents, port } });
  servers.push(second);
  await second.start();
  await waitUntil("the other to be ready, too", () => all.ready);
  expect(all.missingServers).toBeUndefined();
});
