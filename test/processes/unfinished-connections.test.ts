/** Real processes and peers that connect but do not go on: they are closed, and keep nobody out. */
import { readFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { afterEach, expect, test, vi } from "vitest";
import { openSession, responseHeaders } from "../../src/tunnel/link/open.js";
import { readExactly } from "../support/callers/bytes.js";
import { askFrontend, connectRequest } from "../support/callers/connect.js";
import { startAgent } from "../support/processes/agent.js";
import { makePki, type TestPki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { get, metric, metricSum } from "../support/processes/http.js";
import { Scope } from "../support/processes/scope.js";
import {
  choosePlace,
  connectFrontend,
  type FrontendKind,
  type ServerPlace,
  type ServerProcess,
  startServer,
} from "../support/processes/server.js";
import { startEcho } from "../support/targets/echo.js";

vi.setConfig({ testTimeout: 120_000 });

let scope = new Scope();
afterEach(async () => {
  await scope.close();
  scope = new Scope();
});

interface Running {
  readonly server: ServerProcess;
  readonly place: ServerPlace;
  readonly pki: TestPki;
}

async function start(
  frontend: FrontendKind,
  { openFiles, flags = [] }: { openFiles?: number; flags?: string[] } = {},
): Promise<Running> {
  const dir = scope.tempDir();
  const pki = makePki(dir);
  const place = await choosePlace(frontend, dir);
  const limit = openFiles === undefined ? {} : { through: ["prlimit", `--nofile=${openFiles}:${openFiles}`] };
  const server = await startServer({ origin: "ours", place, pki, flags, ...limit });
  scope.use(server.process);
  return { server, place, pki };
}

/** Connections on which nothing is ever said; resolves when the kernel has accepted them all. */
async function silent(port: number, count: number): Promise<Socket[]> {
  const sockets = Array.from({ length: count }, () => connect(port, "127.0.0.1").on("error", () => {}));
  scope.defer(() => {
    for (const socket of sockets) socket.destroy();
  });
  await Promise.all(
    sockets.map((socket) => new Promise((resolve) => socket.once("connect", resolve).once("close", resolve))),
  );
  for (const socket of sockets) socket.resume();
  return sockets;
}

async function echoes({ place, pki }: Running): Promise<void> {
  const echo = await startEcho();
  scope.defer(() => echo.close());
  const { status, socket } = await askFrontend(connectFrontend(place, pki), connectRequest(echo.address));
  scope.defer(() => void socket.destroy());
  expect(status).toBe(200);
  socket.write("hello");
  expect(String(await readExactly(socket, 5))).toBe("hello");
}

test("400 silent connections to a server that may open 256 files keep neither health nor agents nor callers out", async () => {
  const running = await start("connect-tcp", { openFiles: 256 });
  const { server, place, pki } = running;
  await silent(place.agentPort, 200);
  await silent(place.frontendPort, 200);
  expect(await get(place.healthPort, "/healthz")).toMatchObject({ status: 200 });
  const agent = await startAgent({ origin: "ours", serverPort: place.agentPort, pki });
  scope.use(agent.process);
  await agent.untilReady();
  await echoes(running);
  expect((await server.readyz()).body).toBe("ok, but the process is about to reach its limit of 256 open files\n");
  expect((await get(place.adminPort, "/metrics")).status).toBe(200);
  const closed = "drawbridge_connections_closed_total";
  expect(await metricSum(place.healthPort, closed, 'reason="descriptor-limit"')).toBeGreaterThan(150);
  expect(server.process.log.text).toContain("the process is about to reach its limit of open files");
});

test("1,000 agents that come back at once all get in beside 1,500 connections that never finish", async () => {
  const { place, pki } = await start("connect-uds");
  await silent(place.agentPort, 1_500);
  const tls = { cert: readFileSync(pki.agent.cert), key: readFileSync(pki.agent.key), ca: readFileSync(pki.agent.ca) };
  const agent = async (number: number): Promise<void> => {
    const socket = connectTls({ ...tls, host: "127.0.0.1", port: place.agentPort, ALPNProtocols: ["h2"] });
    scope.defer(() => void socket.destroy());
    await new Promise((resolve, reject) => socket.once("secureConnect", resolve).once("error", reject));
    const { call } = openSession(socket, "localhost", "https");
    await responseHeaders(call("/AgentService/Connect", { agentid: `a-${number}` }), 60_000);
  };
  const came = await Promise.allSettled(Array.from({ length: 1_000 }, (_, number) => agent(number)));
  expect(came.filter(({ status }) => status === "rejected")).toEqual([]);
  const connections = "konnectivity_network_proxy_server_grpc_connections";
  expect(await metric(place.healthPort, connections, '{service_method="Connect"}')).toBe(1_000);
});

test("a TLS handshake that does not go on is closed in time, at the agents' and at the callers' listener", async () => {
  const { server, place } = await start("connect-tcp", { flags: ["--handshake-timeout=1s"] });
  const sockets = [...(await silent(place.agentPort, 1)), ...(await silent(place.frontendPort, 1))];
  await waitUntil("both to be closed", () => sockets.every(({ closed }) => closed));
  const closed = "drawbridge_connections_closed_total";
  // Those that looked whether the ports were open may be among them.
  expect(await metricSum(place.healthPort, closed, 'reason="handshake-timeout"')).toBeGreaterThanOrEqual(2);
  expect(server.process.log.text).toMatch(
    /TLS handshake was not finished in time listener="agent" remote="127\.0\.0\.1:/,
  );
});

test("a server that ends leaves the Unix socket of the one that has taken its place", async () => {
  const old = await start("connect-uds");
  const { udsPath } = old.place;
  const place = { ...(await choosePlace("connect-uds", scope.tempDir())), udsPath };
  const server = await startServer({ origin: "ours", place, pki: old.pki });
  scope.use(server.process);
  expect(await old.server.process.stop()).toMatchObject({ code: 0 });
  const agent = await startAgent({ origin: "ours", serverPort: place.agentPort, pki: old.pki });
  scope.use(agent.process);
  await agent.untilReady();
  await echoes({ server, place, pki: old.pki });
});
