/** Agents that prove who they are with service-account tokens, and servers found by counting leases: a real kube-apiserver decides. */
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
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
const LEASES = ["get", "leases", "-n", AGENT_NAMESPACE];
const USUAL_LABEL = "k8s-app=konnectivity-server";

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

  // Mostly waiting, so side by side.
  test.concurrent.each(serversUnderTest)(
    "leases of a server ($server): its own is renewed, a dead one's is removed",
    async ({ server }) => {
      const leaseLabel = `lab-fleet=holder-${server}`;
      const options = { name: `holder-${server}`, server, agent: server, serverCount: "leases", tokenFile } as const;
      const fleet = await Fleet.make(scope, files, { ...options, leaseLabel });
      scope.defer(() => fleet.stop());
      await plane.admin.apply(abandonedLease(`abandoned-${server}`, leaseLabel));
      await fleet.scale(1, 1);
      // Two leases are there, but only one is worth counting.
      await everyoneSees(fleet, 1, 1);
      const first = await onlyLease(plane, leaseLabel);
      expect(first.metadata.name).toBe(`konnectivity-proxy-server-${first.spec.holderIdentity}`);
      expect(first.spec.leaseDurationSeconds).toBe(30);
      await until("the lease to be renewed", 60_000, async () => {
        return (await onlyLease(plane, leaseLabel)).spec.renewTime > first.spec.renewTime;
      });
      await leasesAreGoneAfterStop(plane, fleet, leaseLabel);
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

    test("bad tokens are refused; the right one in the same file is taken without a restart", async () => {
      const bad = [
        await requestToken(plane.admin, { audience: "somebody-else" }),
        await ofAnotherAccount(plane),
        await boundToNothing(plane),
        await unsigned(plane),
      ];
      const tokenFiles = bad.map((token, index) =>
        writeToken(scope.file(`bad-${index}-${pairing.server}-${pairing.agent}.token`), token),
      );
      await make("refused", { serverCount: 1, tokenFile: tokenFiles });
      const before = await reviews(plane);
      await fleet.scale(1, bad.length);
      const twiceEach = before + 2 * bad.length;
      await until("two attempts of each to be reviewed", 60_000, async () => (await reviews(plane)) >= twiceEach);
      expect(await gauge(fleet.servers, READY)).toEqual([0]);
      expect((await fleet.servers[0]?.health("/readyz"))?.status).toBe(500);
      const good = await requestToken(plane.admin, { audience: AUDIENCE });
      for (const [index, file] of tokenFiles.entries()) {
        expect(await readiness(fleet)).toEqual(bad.map((_, agent) => agent < index));
        writeToken(file, good);
        await until("the next agent to be let in", 60_000, () => fleet.agents[index]!.isReady());
      }
      await everyoneSees(fleet, 1, bad.length);
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

const readiness = ({ agents }: Fleet): Promise<boolean[]> => Promise.all(agents.map((agent) => agent.isReady()));

/** How many tokens the kube-apiserver was asked about so far. */
async function reviews({ admin }: ControlPlane): Promise<number> {
  const labels = { resource: "tokenreviews", verb: "POST", code: "201" };
  return metric(await admin.raw("/metrics"), "apiserver_request_total", labels);
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

function abandonedLease(name: string, label: string): object {
  const labels = Object.fromEntries([label.split("=")]);
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name, namespace: AGENT_NAMESPACE, labels },
    spec: { holderIdentity: name, leaseDurationSeconds: 30, renewTime: "2020-01-01T00:00:00.000000Z" },
  };
}

async function leasesOf({ admin }: ControlPlane, label: string): Promise<Lease[]> {
  return (await admin.json<{ items: Lease[] }>([...LEASES, "-l", label])).items;
}

/** Waits for longer than the servers' collector of expired leases needs. */
async function onlyLease(plane: ControlPlane, label: string): Promise<Lease> {
  return until("one lease", 60_000, async () => {
    const leases = await leasesOf(plane, label);
    return leases.length === 1 && leases[0];
  });
}

async function leasesAreGoneAfterStop(plane: ControlPlane, fleet: Fleet, label = USUAL_LABEL): Promise<void> {
  expect(await leasesOf(plane, label)).toHaveLength(fleet.servers.length);
  await fleet.stop();
  await until("the servers' leases to be gone", 30_000, async () => (await leasesOf(plane, label)).length === 0);
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
