/** Traces through a real server and real agents, with other callers and with a slow link. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { startEcho } from "../../../test/support/targets/echo.js";
import type { Target } from "../../../test/support/targets/listener.js";
import { type Relay, startSlowRelay } from "../../../test/support/targets/slow-relay.js";
import type { RunningHttp } from "../../base/http.js";
import { MetricsRegistry } from "../../base/metrics/registry.js";
import { FRONTENDS, startTunnelFixture, type TunnelFixture } from "../../tunnel/client/testing/fixture.js";
import { serverDialEnded } from "../../tunnel/events/channels.js";
import { startAdmin } from "../observe/admin.js";
import { ObservedServer } from "../observe/roles/server.js";
import { AdminPort } from "./admin-port.js";
import { trace } from "./trace.js";

const TOKEN = "a-token-of-this-test";
let folder: string;
let fixture: TunnelFixture;
let http: RunningHttp;
let echo: Target;
let relay: Relay | undefined;

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), "drawbridge-trace-"));
  const tokenFile = join(folder, "token");
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  fixture = await startTunnelFixture();
  const subject = new ObservedServer(fixture.server);
  subject.remember();
  const options = { source: fixture.server, version: "1.2.3", subject, tokenFile, profiling: false };
  http = await startAdmin({ host: "127.0.0.1", port: 0 }, new MetricsRegistry(), options);
  echo = await startEcho();
});
afterEach(async () => {
  await Promise.all([fixture.close(), http.close(), echo.close(), relay?.close()]);
  relay = undefined;
  rmSync(folder, { recursive: true });
});

const admin = () => new AdminPort({ url: new URL(`http://127.0.0.1:${http.port}`), token: TOKEN });

test("of many callers that dial one target at once, each trace names the agent of its own dial", async () => {
  await fixture.startAgent();
  await fixture.startAgent();
  const agents = new Map<string, string | undefined>();
  serverDialEnded.subscribe(({ dialId, agentId }) => void agents.set(String(dialId), agentId), fixture.server);
  const callers = [...FRONTENDS, ...FRONTENDS, ...FRONTENDS];
  const traces = await Promise.all(
    callers.map((name) => trace(fixture.frontends[name], echo.address, admin(), 10_000)),
  );
  for (const { dialId, steps, blind } of traces) {
    expect(blind).toBeUndefined();
    expect(steps[1]).toMatchObject({ name: "choose an agent", detail: agents.get(dialId) });
  }
  expect(new Set(agents.values())).toEqual(new Set(["agent-0", "agent-1"]));
});

test("a slow link is a step of its own, and the agent's fast dial is not blamed for it", async () => {
  const oneWayMs = 60;
  relay = await startSlowRelay(fixture.agentPort, oneWayMs);
  await fixture.startAgent({ servers: [{ host: "127.0.0.1", port: relay.port }] });
  const { steps, ok } = await trace(fixture.frontends["grpc-uds"], echo.address, admin(), 10_000);
  expect(ok).toBe(true);
  const [link, dial] = ["link to the agent and back", "agent dials the target"].map(
    (name) => steps.find((step) => step.name === name)!.ms,
  );
  expect(link).toBeGreaterThanOrEqual(2 * oneWayMs - 2);
  expect(dial).toBeLessThan(2 * oneWayMs);
});
