/** Upstream's agent has no echo: our watchdog leaves it alone. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test } from "vitest";
import type { FlightRecord, Overview } from "../../src/insight/observe/admin/contract.js";
import { ask } from "../../src/insight/observe/admin/testing/asker.js";
import { readExactly } from "../support/callers/bytes.js";
import { startAgent } from "../support/processes/agent.js";
import { waitUntil } from "../support/processes/deadline.js";
import { peersAvailable } from "../support/processes/executables.js";
import { metricSum } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import { startTunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";

const scope = new Scope();
afterEach(() => scope.close());

test.skipIf(!peersAvailable("proxy-agent"))("no packet of the watchdog ever goes to upstream's agent", async () => {
  const tokenFile = join(scope.tempDir(), "token");
  writeFileSync(tokenFile, "t0ken", { mode: 0o600 });
  const tunnel = await startTunnel({
    ...{ server: "ours", agent: "theirs", frontend: "connect-uds" },
    serverFlags: ["--watchdog-interval=100ms", "--watchdog-timeout=5s", `--admin-token-file=${tokenFile}`],
  });
  scope.use(tunnel);
  const { place, pki } = tunnel;
  const asked = async <T>(path: string) =>
    (await ask(place.adminPort, `/drawbridge/v1/${path}`, { headers: { authorization: "Bearer t0ken" } })).json<T>();

  // One of ours beside it, by which it is known that the watchdog is awake.
  const ours = await startAgent({ origin: "ours", serverPort: place.agentPort, pki, id: "ours" });
  scope.use(ours.process);
  const checks = () => metricSum(place.healthPort, "drawbridge_server_path_checks_total", 'result="ok"');
  await waitUntil("ours to be asked ten times", async () => (await checks()) >= 10);

  const { agents = [] } = await asked<Overview>("");
  const [upstreams, other] = [agents.find(({ id }) => id !== "ours")!, agents.find(({ id }) => id === "ours")!];
  expect([upstreams.drawbridge, upstreams.path, other.path?.state]).toEqual([false, { state: "unknown" }, "ok"]);
  const flight = await asked<FlightRecord>(`flight/${upstreams.key}`);
  expect([flight.packets, flight.totals, flight.last]).toEqual([0, [], []]);
  expect((await asked<FlightRecord>(`flight/${other.key}`)).packets).toBeGreaterThan(50);

  // And it works as ever.
  await ours.process.kill();
  await waitUntil("ours to be gone", async () => (await asked<Overview>("")).agents?.length === 1);
  const echo = await startEcho();
  scope.use(echo);
  const socket = await tunnel.open(echo.address);
  socket.write("through");
  expect(String(await readExactly(socket, 7))).toBe("through");
  socket.destroy();
});
