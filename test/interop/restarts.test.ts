/**
 * A hundred restarts of real servers under load, counted by leases whose deletion takes its time: a dial may be refused
 * and made again, and no request that was granted is lost (docs/ha.md).
 */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ApiStub } from "../../src/cluster/kube/testing/api-stub.js";
import { CollectionStub } from "../../src/cluster/kube/testing/collection-stub.js";
import { Load } from "../support/lab/load.js";
import { startAgent } from "../support/processes/agent.js";
import { makePki, type TestPki } from "../support/processes/certs.js";
import { waitUntil } from "../support/processes/deadline.js";
import { peersAvailable } from "../support/processes/executables.js";
import { Scope } from "../support/processes/scope.js";
import { choosePlace, connectFrontend, type FrontendKind, startServer } from "../support/processes/server.js";
import { startEcho } from "../support/targets/echo.js";

const SLOW_DELETE_MS = 20;
const RESTARTS = 50;
const CLIENTS = 4;

const scope = new Scope();
let pki: TestPki;
let target: string;
let kubeconfig: string;
const leases = new CollectionStub("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases");

beforeAll(async () => {
  const dir = scope.tempDir();
  pki = makePki(dir);
  target = scope.use(await startEcho()).address;
  const api = scope.use(
    await ApiStub.start(async (request, response) => {
      if (request.method === "DELETE") await sleep(SLOW_DELETE_MS);
      await leases.handle(request, response);
    }),
  );
  kubeconfig = join(dir, "kubeconfig");
  const clusters = [{ name: "c", cluster: { server: api.url } }];
  const contexts = [{ name: "c", context: { cluster: "c", user: "u" } }];
  const users = [{ name: "u", user: { token: "t" } }];
  writeFileSync(
    kubeconfig,
    JSON.stringify({ apiVersion: "v1", kind: "Config", clusters, contexts, users, "current-context": "c" }),
  );
});
afterAll(() => scope.close());

test.skipIf(!peersAvailable("proxy-agent")).concurrent.each(["connect-uds", "connect-tcp"] as const)(
  `${RESTARTS} restarts of a server with a %s frontend lose no request`,
  { timeout: 240_000 },
  async (frontend: FrontendKind) => {
    const place = await choosePlace(frontend, scope.tempDir());
    const flags = ["--enable-lease-controller", `--kubeconfig=${kubeconfig}`, "--graceful-shutdown-timeout=5s"];
    const start = async () => {
      const server = await startServer({ origin: "ours", place, pki, flags });
      scope.use(server.process);
      return server;
    };
    let server = await start();
    for (const origin of ["ours", "theirs"] as const) {
      scope.use((await startAgent({ origin, serverPort: place.agentPort, pki })).process);
    }
    const load = Load.start(() => connectFrontend(place, pki), target, CLIENTS);
    for (let restart = 0; restart < RESTARTS; restart++) {
      const before = load.answered;
      await waitUntil("clients to be served", () => load.answered > before + CLIENTS, { withinMs: 30_000 });
      expect(await server.process.stop()).toEqual({ code: 0, signal: null });
      server = await start();
    }
    const { lost, hung, unserved, answered } = await load.stop();
    expect({ lost, hung, unserved }).toEqual({ lost: [], hung: [], unserved: [] });
    expect(answered).toBeGreaterThan(RESTARTS * CLIENTS);
  },
);
