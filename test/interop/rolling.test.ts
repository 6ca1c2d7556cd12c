/**
 * Three servers behind a balancer are replaced by three new ones, one at a time, while clients dial without a pause: with
 * agents that keep looking (`--sync-forever`), ours and upstream's, and dials that wait for an agent (`--wait-for-agent`)
 * not one dial is refused and no request is lost. A new server gets callers from its first moment, when it has no agent.
 */
import { afterAll, expect, test } from "vitest";
import { Balancer } from "../support/lab/balancer.js";
import { Load } from "../support/lab/load.js";
import { startAgent } from "../support/processes/agent.js";
import { makePki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { peersAvailable } from "../support/processes/executables.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, type ServerProcess, startServer } from "../support/processes/server.js";
import { startEcho } from "../support/targets/echo.js";

const scope = new Scope();
afterAll(() => scope.close());

const SERVERS = 3;
const CLIENTS = 4;
const flags = [`--server-count=${SERVERS}`, "--wait-for-agent=5s", "--graceful-shutdown-timeout=10s"];

test.skipIf(!peersAvailable("proxy-agent"))("three servers are replaced, and no dial is refused", async () => {
  const pki = makePki(scope.tempDir());
  const echo = scope.use(await startEcho());
  const [callers, agents] = [await Balancer.start(scope), await Balancer.start(scope)];
  const running: ServerProcess[] = [];
  let load: Load | undefined;
  const served = async (more: number) => {
    const before = load!.answered;
    await waitUntil("clients to be served", () => load!.answered > before + more, { withinMs: 60_000 });
  };
  const add = async () => {
    const place = await choosePlace("connect-tcp", scope.tempDir());
    const server = await startServer({ origin: "ours", place, pki, flags, name: `server ${running.length}` });
    scope.use(server.process);
    running.push(server);
    callers.add(place.frontendPort);
    agents.add(place.agentPort);
  };
  for (let each = 0; each < SERVERS; each++) await add();
  for (const origin of ["ours", "theirs", "ours", "theirs"] as const) {
    const options = { origin, serverPort: agents.port, pki, flags: ["--sync-forever", "--sync-interval=500ms"] };
    scope.use((await startAgent(options)).process);
  }
  await Promise.all(running.map((server) => server.untilReady()));
  const certs = pki.caller;
  load = Load.start(() => ({ transport: "tcp", host: "127.0.0.1", port: callers.port, certs }), echo.address, CLIENTS);
  for (const old of running.slice(0, SERVERS)) {
    await served(10 * CLIENTS);
    await add();
    await served(10 * CLIENTS);
    // As a preStop hook that sleeps has it: callers are led elsewhere, and then the server is asked to end.
    callers.remove(old.place.frontendPort);
    agents.remove(old.place.agentPort);
    expect(await old.process.stop("SIGTERM", 20_000)).toEqual({ code: 0, signal: null });
  }
  await served(10 * CLIENTS);
  const { refusals, lost, hung, unserved } = await load.stop();
  expect({ refusals, lost, hung, unserved }).toEqual({ refusals: [], lost: [], hung: [], unserved: [] });
});
