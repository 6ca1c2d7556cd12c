/** Agents that prove who they are with service-account tokens, and servers found by counting leases: a real kube-apiserver decides. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, onTestFinished, test } from "vitest";
import type { ControlPlane } from "../support/lab/control-plane.js";
import { equipped, origin } from "../support/lab/equipment.js";
import { Fleet, type FleetFiles, type FleetOptions, makeFleetFiles } from "../support/lab/fleet.js";
import { startOnLoopback } from "../support/lab/loopback.js";
import { hasMetric, metric } from "../support/lab/metrics.js";
import { AGENT_METRIC } from "../support/lab/proxy-agent.js";
import { SERVER_METRIC } from "../support/lab/proxy-server.js";
import { Scope } from "../support/lab/scope.js";
import {
  AGENT_NAMESPACE,
  AUDIENCE,
  accessObjects,
  requestToken,
  SERVER_USER,
  writeToken,
} from "../support/lab/service-account.js";
import { until } from "../support/lab/wait.js";
import type { Origin } from "../support/processes/executables.js";

const READY = `${SERVER_METRIC}_ready_backend_connections`;
const OPEN = `${AGENT_METRIC}_open_server_connections`;
const KNOWN = `${AGENT_METRIC}_known_server_count`;
const LEASES = ["get", "leases", "-n", AGENT_NAMESPACE, "-l", "k8s-app=konnectivity-server"];

const pairings: readonly { server: Origin; agent: Origin }[] =
  origin === "theirs"
    ? [{ server: "theirs", agent: "theirs" }]
    : [
        { server: "ours", agent: "ours" },
        { server: "ours", agent: "theirs" },
        { server: "theirs", agent: "ours" },
      ];

const serversUnderTest = [...new Set(pairings.map(({ server }) => server))].map((server) => ({ server }));

const ready = await equipped({ controlPlane: true, upstream: true });

describe.skipIf(!ready)("tokens and leases", () => {
  let scope: Scope;
  let plane: ControlPlane;
  let files: FleetFiles;
  let tokenFile: string;

  beforeAll(async () => {
    scope = new Scope("tokens");
    plane = await startOnLoopback(scope);
    await plane.admin.apply(...accessObjects);
    tokenFile = writeToken(scope.file("agent.token"), await requestToken(plane.admin, { audience: AUDIENCE }));
    const forTheApi = writeToken(scope.file("agent-api.token"), await requestToken(plane.admin, {}));
    files = makeFleetFiles(scope, plane, forTheApi);
  });
  afterAll(() => scope?.close());

  test.each(serversUnderTest)(
    "leases of a server ($server): its own is renewed, a dead one's is removed",
    async ({ server }) => {
      const options = { name: `holder-${server}`, server, agent: server, serverCount: "leases", tokenFile } as const;
      const fleet = await Fleet.make(scope, files, options);
      onTestFinished(() => fleet.stop());
      await plane.admin.apply(abandonedLease);
      await fleet.scale(1, 1);
      // Two leases are there, but only one is worth counting.
      await everyoneSees(fleet, 1, 1);
      const first = await onlyLease(plane);
      expect(first.metadata.name).toBe(`konnectivity-proxy-server-${first.spec.holderIdentity}`);
      expect(first.spec.leaseDurationSeconds).toBe(30);
      await until("the lease to be renewed", 20_000, async () => {
        return (await onlyLease(plane)).spec.renewTime > first.spec.renewTime;
      });
      await leasesAreGoneAfterStop(plane, fleet);
    },
  );

  describe.each(pairings)("server: $server, agents: $agent", (pairing) => {
    let fleet: Fleet;
    const make = async (name: string, options: Pick<FleetOptions, "serverCount"> & Partial<FleetOptions>) => {
      const unique = `${name}-${pairing.server}-${pairing.agent}`;
      fleet = await Fleet.make(scope, files, { ...pairing, tokenFile, name: unique, ...options });
    };
    afterEach(() => fleet?.stop());

    describe("upstream's own four", () => {
      test("one server, one agent, count by flag", async () => {
        await make("one", { serverCount: 1 });
        await fleet.scale(1, 1);
        await everyoneSees(fleet, 1, 1);
      });

      test("three servers, three agents, count by flag", async () => {
        await make("three", { serverCount: 3 });
        await fleet.scale(3, 3);
        await everyoneSees(fleet, 3, 3);
      });

      test("one server, one agent, count by lease", async () => {
        await make("one-lease", { serverCount: "leases" });
        await fleet.scale(1, 1);
        await everyoneSees(fleet, 1, 1);
        await leasesAreGoneAfterStop(plane, fleet);
      });

      test("two servers and agents grow to four, count by lease", async () => {
        await make("four-leases", { serverCount: "leases" });
        await fleet.scale(2, 2);
        await everyoneSees(fleet, 2, 2);
        await fleet.scale(4, 4);
        await everyoneSees(fleet, 4, 4);
        await leasesAreGoneAfterStop(plane, fleet);
      });
    });

    describe("a bad token", () => {
      let changing: string;
      const reviews = async () => {
        const text = await plane.admin.raw("/metrics");
        return metric(text, "apiserver_request_total", { resource: "tokenreviews", verb: "POST", code: "201" });
      };

      beforeEach(() => {
        changing = scope.file(`changing-${pairing.server}-${pairing.agent}.token`);
      });

      test.each([
        ["for another audience", async () => requestToken(plane.admin, { audience: "somebody-else" })],
        ["of another service account", async () => ofAnotherAccount(plane)],
        ["whose bound object is gone", async () => boundToNothing(plane)],
        ["that nobody signed", async () => unsigned(plane)],
      ])("%s is refused; the right one in the same file is taken without a restart", async (_, badToken) => {
        writeToken(changing, await badToken());
        await make("refused", { serverCount: 1, tokenFile: changing });
        const before = await reviews();
        await fleet.scale(1, 1);
        await until("two attempts to be reviewed", 20_000, async () => (await reviews()) >= before + 2);
        expect(await gauge(fleet.servers, READY)).toEqual([0]);
        expect(await fleet.agents[0]?.isReady()).toBe(false);
        expect((await fleet.servers[0]?.health("/readyz"))?.status).toBe(500);
        writeToken(changing, await requestToken(plane.admin, { audience: AUDIENCE }));
        await everyoneSees(fleet, 1, 1);
      });
    });
  });
});

interface Measured {
  metrics(): Promise<string>;
}

/** The gauge of each process; one that does not export it is an error, not a zero. */
function gauge(processes: readonly Measured[], name: string): Promise<number[]> {
  return Promise.all(
    processes.map(async (process) => {
      const text = await process.metrics();
      if (!hasMetric(text, name)) throw new Error(`${name} is not exported`);
      return metric(text, name);
    }),
  );
}

async function everyoneSees({ servers, agents }: Fleet, serverCount: number, agentCount: number): Promise<void> {
  const settled = async () => [await gauge(servers, READY), await gauge(agents, OPEN), await gauge(agents, KNOWN)];
  const fill = (length: number, value: number) => Array.from({ length }, () => value);
  const wanted = [fill(serverCount, agentCount), fill(agentCount, serverCount), fill(agentCount, serverCount)];
  let last: number[][] = [];
  await until(`every gauge to be ${serverCount} and ${agentCount}`, 60_000, async () => {
    last = await settled();
    return JSON.stringify(last) === JSON.stringify(wanted);
  }).catch((error: Error) => {
    throw new Error(`${error.message}; ready, open and known were ${JSON.stringify(last)}`, { cause: error });
  });
  expect(last).toEqual(wanted);
}

interface Lease {
  readonly metadata: { readonly name: string };
  readonly spec: { readonly holderIdentity: string; readonly leaseDurationSeconds: number; readonly renewTime: string };
}

const abandonedLease = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: { name: "abandoned", namespace: AGENT_NAMESPACE, labels: { "k8s-app": "konnectivity-server" } },
  spec: { holderIdentity: "abandoned", leaseDurationSeconds: 30, renewTime: "2020-01-01T00:00:00.000000Z" },
};

/** Waits for longer than the servers' collector of expired leases needs. */
async function onlyLease({ admin }: ControlPlane): Promise<Lease> {
  return until("one lease", 20_000, async () => {
    const { items } = await admin.json<{ items: Lease[] }>(LEASES);
    return items.length === 1 && items[0];
  });
}

async function leasesAreGoneAfterStop({ admin }: ControlPlane, fleet: Fleet): Promise<void> {
  const held = await admin.json<{ items: Lease[] }>(LEASES);
  expect(held.items).toHaveLength(fleet.servers.length);
  await fleet.stop();
  await until("the servers' leases to be gone", 10_000, async () => {
    return (await admin.json<{ items: Lease[] }>(LEASES)).items.length === 0;
  });
}

async function ofAnotherAccount({ admin }: ControlPlane): Promise<string> {
  const metadata = { name: "somebody-else", namespace: AGENT_NAMESPACE };
  await admin.apply({ apiVersion: "v1", kind: "ServiceAccount", metadata });
  return requestToken(admin, { account: metadata.name, audience: AUDIENCE });
}

async function boundToNothing({ admin }: ControlPlane): Promise<string> {
  const metadata = { name: "token-anchor", namespace: AGENT_NAMESPACE };
  await admin.apply({ apiVersion: "v1", kind: "Secret", metadata });
  const token = await requestToken(admin, { audience: AUDIENCE, boundToSecret: metadata.name });
  await admin.run(["delete", "secret", metadata.name, "-n", AGENT_NAMESPACE]);
  return token;
}

/** A genuine token with its last part replaced. */
async function unsigned({ admin }: ControlPlane): Promise<string> {
  const [header, claims] = (await requestToken(admin, { audience: AUDIENCE })).split(".");
  return `${header}.${claims}.${Buffer.from(SERVER_USER).toString("base64url")}`;
}
