import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { createKubeApi } from "./client.js";
import { LeaderElection } from "./leader.js";
import { type Lease, leasesPath } from "./lease.js";
import type { KubeApi } from "./port.js";
import { ApiStub, replyStatus } from "./testing/api-stub.js";
import { CollectionStub } from "./testing/collection-stub.js";

let leases: CollectionStub;
let stub: ApiStub;
let api: KubeApi;
let clock: ManualClock;
let log: string[];
let replicas: LeaderElection[];

beforeEach(async () => {
  leases = new CollectionStub(leasesPath("ns"));
  stub = await ApiStub.start(leases.handle);
  clock = new ManualClock();
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock, qps: -1 });
  log = [];
  replicas = [];
});

afterEach(async () => {
  leases.intercept = () => false;
  for (const replica of replicas) await replica.stop();
  api.close();
  await stub.close();
});

function replica(identity: string): LeaderElection {
  const made = new LeaderElection({
    ...{ api, clock, identity, namespace: "ns", name: "approver" },
    onChange: (leading) => log.push(`${identity} ${leading ? "leads" : "follows"}`),
    onError: (sentence) => log.push(`${identity}: ${sentence}`),
  });
  replicas.push(made);
  return made;
}

const lease = () => leases.objects.get("approver") as Lease | undefined;
const holder = () => lease()?.spec?.holderIdentity;

/** Until every replica has asked once more. */
async function turn(ms = 2000): Promise<void> {
  await eventually(() => expect(clock.waiting.filter((left) => left <= 2000)).toHaveLength(replicas.length));
  const before = stub.requests.length;
  clock.advance(ms);
  await eventually(() => expect(stub.requests.length).toBeGreaterThanOrEqual(before + replicas.length));
  await eventually(() => expect(clock.waiting.filter((left) => left === 2000)).toHaveLength(replicas.length));
}

describe("an election", () => {
  test("is won by the first, who makes the lease and renews it", async () => {
    const a = replica("a");
    expect(a.leading).toBe(false);
    a.start();
    await eventually(() => expect(log).toEqual(["a leads"]));
    expect(lease()?.spec).toEqual({
      holderIdentity: "a",
      leaseDurationSeconds: 15,
      acquireTime: "2031-01-01T00:00:00.000000Z",
      renewTime: "2031-01-01T00:00:00.000000Z",
      leaseTransitions: 0,
    });
    await turn();
    expect(lease()?.spec).toMatchObject({
      acquireTime: "2031-01-01T00:00:00.000000Z",
      renewTime: "2031-01-01T00:00:02.000000Z",
      leaseTransitions: 0,
    });
    expect(a.leading).toBe(true);
  });

  test("leaves the second waiting until the first gives the lease back", async () => {
    const a = replica("a");
    a.start();
    await eventually(() => expect(a.leading).toBe(true));
    const b = replica("b");
    b.start();
    for (let round = 0; round < 12; round++) await turn();
    expect([a.leading, b.leading, holder()]).toEqual([true, false, "a"]);
    await a.stop();
    replicas = [b];
    expect([a.leading, holder()]).toEqual([false, ""]);
    await turn();
    expect([b.leading, holder(), lease()?.spec?.leaseTransitions]).toEqual([true, "b", 1]);
  });

  test("goes on when the first falls silent: not before its lease ran out, by the other's own clock", async () => {
    const renewTime = "2099-01-01T00:00:00.000000Z";
    leases.put({
      metadata: { name: "approver" },
      spec: { holderIdentity: "gone", leaseDurationSeconds: 15, renewTime },
    } as Lease);
    const b = replica("b");
    b.start();
    for (let round = 0; round < 7; round++) await turn();
    expect([b.leading, holder()]).toEqual([false, "gone"]);
    await turn();
    expect([b.leading, holder()]).toEqual([true, "b"]);
  });

  test("ends before anybody else may take over when the API is not reachable, and begins again with it", async () => {
    const a = replica("a");
    a.start();
    await eventually(() => expect(a.leading).toBe(true));
    leases.intercept = (_, response) => {
      replyStatus(response, 500, "InternalError", "etcd is away");
      return true;
    };
    for (let round = 0; round < 4; round++) await turn();
    expect(a.leading).toBe(true);
    await turn();
    expect(a.leading).toBe(false);
    expect(log.filter((line) => !line.includes("cannot be held"))).toEqual(["a leads", "a follows"]);
    leases.intercept = () => false;
    await turn();
    expect(a.leading).toBe(true);
  });

  test("says what to do where its namespace is missing, and leads as soon as it is there", async () => {
    leases.intercept = (_, response) => {
      replyStatus(response, 404, "NotFound", 'namespaces "ns" not found');
      return true;
    };
    const a = replica("a");
    a.start();
    await eventually(() => expect(log[0]).toContain("there is no namespace ns; create it"));
    leases.intercept = () => false;
    await turn();
    expect(a.leading).toBe(true);
  });

  test("has one winner when two write at once", async () => {
    leases.put({ metadata: { name: "approver" }, spec: { holderIdentity: "" } } as Lease);
    const both = [replica("a"), replica("b")];
    for (const one of both) one.start();
    await eventually(() => expect(clock.waiting.filter((left) => left === 2000)).toHaveLength(2));
    expect(both.filter(({ leading }) => leading)).toHaveLength(1);
    for (let round = 0; round < 3; round++) await turn();
    expect(both.filter(({ leading }) => leading)).toHaveLength(1);
    expect(log).toHaveLength(1);
  });
});
