/** The watchdog and the flight recorder with real peers: some that stand still, some that lie, some that know nothing of it. */
import { readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, expect, test, vi } from "vitest";
import type { AgentPeer, FlightRecord, Overview } from "../../src/insight/observe/admin/contract.js";
import { ask } from "../../src/insight/observe/admin/testing/asker.js";
import { ObservedServer } from "../../src/insight/observe/roles/server.js";
import { serverLinkRecycled, serverPathChecked } from "../../src/tunnel/events/channels.js";
import type { WatchdogConfig } from "../../src/tunnel/server/config.js";
import { ECHO_ADDRESS } from "../../src/tunnel/wire/destination.js";
import { payload, readExactly } from "../support/callers/bytes.js";
import { waitUntil } from "../support/processes/deadline.js";
import { get, metric, metricSum } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import { startTunnel } from "../support/processes/tunnel.js";
import { startEcho } from "../support/targets/echo.js";
import { tunnelTo } from "./fixture/connect.js";
import { type Fixture, openFixture } from "./fixture/fixture.js";
import { rawAgent } from "./fixture/grpc.js";

vi.setConfig({ testTimeout: 60_000 });

const TOKEN = "watchdog-token";
/** For an agent that is to fail. */
const QUICK = { intervalMs: 100, timeoutMs: 1_000, failures: 3 };
/** For agents that are to work, however busy the machine is. */
const PATIENT = { ...QUICK, timeoutMs: 15_000 };

const scope = new Scope();
afterEach(() => scope.close());

test("an agent that is frozen is noticed, its link ended, and back once it is thawed", {
  timeout: 120_000,
}, async () => {
  const dir = scope.tempDir();
  const [tokenFile, dumps] = [join(dir, "token"), join(dir, "dumps")];
  writeFileSync(tokenFile, TOKEN, { mode: 0o600 });
  const tunnel = await startTunnel({
    ...{ server: "ours", agent: "ours", frontend: "connect-uds" },
    serverFlags: [
      ...["--watchdog-interval=300ms", "--watchdog-timeout=2s", "--readiness=path"],
      ...[`--dump-dir=${dumps}`, `--admin-token-file=${tokenFile}`],
    ],
  });
  scope.use(tunnel);
  const { healthPort, adminPort } = tunnel.place;
  const asked = (path: string) =>
    ask(adminPort, `/drawbridge/v1/${path}`, { headers: { authorization: `Bearer ${TOKEN}` } });
  const overview = async () => (await asked("")).json<Overview>();

  // Ready already means that bytes come through; and nothing of it is anybody's traffic.
  await waitUntil(
    "a few checks",
    async () => (await metricSum(healthPort, "drawbridge_server_path_checks_total")) >= 3,
  );
  const before = await overview();
  expect(before.path).toMatchObject({ state: "ok" });
  expect(before.agents).toMatchObject([{ path: { state: "ok" }, tunnels: 0, pendingDials: 0, bytesToTarget: 0 }]);
  expect(before.totals).toMatchObject({ bytesToTarget: 0, bytesFromTarget: 0, dialsEstablished: 0 });
  for (const port of [healthPort, tunnel.agents[0]!.healthPort]) {
    const { body } = await get(port, "/metrics");
    expect(body).not.toMatch(/stream_packets_total\{/);
    expect(body).not.toMatch(/dial_duration_seconds_count [1-9]/);
  }

  const agent = tunnel.agents[0]!.process;
  agent.signal("SIGSTOP");
  try {
    // Before the link is ended, after three failures, readiness and the overview both name the path.
    const sentence = "agents are connected, but the path of none is known to work";
    const isNamed = async () =>
      (await get(healthPort, "/readyz")).body === sentence && (await overview()).agents?.[0]?.path?.state === "failing";
    await waitUntil("readiness and overview to name the path", isNamed);
    await waitUntil("the link to be ended", async () => (await overview()).agents?.length === 0);
    expect(await metric(healthPort, "drawbridge_server_links_recycled_total")).toBe(1);
  } finally {
    agent.signal("SIGCONT");
  }
  const back = await waitUntil("the agent to be back", async () => {
    const { agents } = await overview();
    return agents?.find(({ path }) => path?.state === "ok");
  });
  const key = before.agents![0]!.key;
  expect(back.key).not.toBe(key);
  await tunnel.server.untilReady();

  // What happened on the link that is gone can still be read, and stands in a file.
  const text = (await asked(`flight/${key}?format=text`)).body;
  expect(text).toMatch(/^link \d+ with ours-agent-\d+, since .*, gone since /);
  expect(text.trimEnd().split("\n").at(-4)).toMatch(/-> DIAL_REQ +dial [0-9a-f]{8}$/);
  const [file] = readdirSync(dumps).map((name) => join(dumps, name));
  expect(statSync(file!).mode & 0o777).toBe(0o600);
  // It may have been frozen between the answer to a dial and the echo.
  const failure =
    /^nothing .*: the agent(?: did not answer a dial of its own echo|'s echo sent back 0 of 16 bytes) within/;
  expect(readFileSync(file!, "utf8")).toMatch(failure);
  expect(readFileSync(file!, "utf8")).toMatch(/-> DIAL_REQ/);
  expect(tunnel.server.process.log.text).toContain("a link on which nothing moves was ended");

  const echo = await startEcho();
  const socket = await tunnel.open(echo.address);
  socket.write("through");
  expect(String(await readExactly(socket, 7))).toBe("through");
  socket.destroy();
  await echo.close();
});

/** All checks of one server, as they end. */
function checksOf(fixture: Fixture): { readonly stream: number; readonly failures: number; readonly error?: string }[] {
  const checks: { stream: number; failures: number; error?: string }[] = [];
  scope.defer(
    serverPathChecked.subscribe(({ stream, failures, error }) => {
      checks.push({ stream, failures, ...(error === undefined ? {} : { error }) });
    }, fixture.server),
  );
  return checks;
}

async function watchedFixture(agents: number, watchdog: WatchdogConfig): Promise<Fixture> {
  const fixture = await openFixture({ agents, server: { watchdog } });
  scope.use(fixture);
  return fixture;
}

const agentsOf = (fixture: Fixture): AgentPeer[] => [...new ObservedServer(fixture.server).agents()];

test("an agent that answers dials but never echoes is dismissed", async () => {
  const fixture = await watchedFixture(0, QUICK);
  const checks = checksOf(fixture);
  const liar = rawAgent(fixture, { agentid: "liar", "drawbridge-features": "1;credit,end-of-stream,echo" });
  scope.use(liar);
  expect((await liar.headers)["drawbridge-features"]).toBe("1;credit,end-of-stream,echo");
  const dials = () => liar.packets.filter((packet) => packet.type === "DIAL_REQ");
  let answered = 0;
  const answer = (): void => {
    for (const { random } of dials().slice(answered)) {
      liar.send({ type: "DIAL_RSP", error: "", connectId: ++answered, random });
    }
  };
  // As they come, not when somebody looks: an answer after the deadline would be another failure than the one meant here.
  liar.stream.on("data", answer);
  answer();
  await waitUntil("its stream to end", () => liar.ended());
  expect(liar.ended()).toMatchObject({ grpcStatus: "14" });
  expect(dials().map(({ address }) => address)).toEqual([ECHO_ADDRESS, ECHO_ADDRESS, ECHO_ADDRESS]);
  expect(checks.map(({ failures }) => failures)).toEqual([1, 2, 3]);
  expect(checks.at(-1)?.error).toBe("the agent's echo sent back 0 of 16 bytes within 1000 ms");
  expect(agentsOf(fixture)).toEqual([]);
});

test("agents that announced nothing, or only version 1, are never sent a packet; ours beside them is", async () => {
  const fixture = await watchedFixture(1, PATIENT);
  const upstreams = rawAgent(fixture, { agentid: "upstream" });
  const older = rawAgent(fixture, { agentid: "older", "drawbridge-features": "1;credit,end-of-stream" });
  for (const peer of [upstreams, older]) scope.use(peer);
  expect((await upstreams.headers)["drawbridge-features"]).toBeUndefined();
  expect((await older.headers)["drawbridge-features"]).toBe("1;credit,end-of-stream");
  const checks = checksOf(fixture);
  await waitUntil("ours to be asked five times", () => checks.length >= 5);
  expect([upstreams.packets, older.packets]).toEqual([[], []]);
  expect(Object.fromEntries(agentsOf(fixture).map(({ id, path }) => [id, path?.state]))).toEqual({
    ...{ "agent-1": "ok", upstream: "unknown", older: "unknown" },
  });
  expect(new Set(checks.map(({ failures }) => failures))).toEqual(new Set([0]));
});

test("a busy link is asked by the same way and found to work", async () => {
  const fixture = await watchedFixture(1, PATIENT);
  const echo = await startEcho();
  scope.use(echo);
  const checks = checksOf(fixture);
  const recycled: object[] = [];
  scope.defer(serverLinkRecycled.subscribe((event) => recycled.push(event), fixture.server));
  const socket = await tunnelTo(fixture, echo.address);
  for (let round = 0; round < 8; round++) {
    const bytes = payload(`round ${round}`, 2 * 1024 * 1024);
    socket.write(bytes);
    expect((await readExactly(socket, bytes.length)).equals(bytes)).toBe(true);
  }
  await waitUntil("two checks", () => checks.length >= 2);
  socket.destroy();
  expect([recycled, checks.filter(({ failures }) => failures > 0)]).toEqual([[], []]);
  const flight: FlightRecord = fixture.server.board.flights!.find(1)!;
  expect(flight.last).toHaveLength(512);
  const { toAgents } = fixture.server.traffic;
  expect(toAgents).toBe(16 * 1024 * 1024);
});
