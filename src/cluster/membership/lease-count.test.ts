import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { createKubeApi } from "../kube/client.js";
import { type Lease, leasesPath } from "../kube/lease.js";
import { ApiStub, replyStatus } from "../kube/testing/api-stub.js";
import { CollectionStub } from "../kube/testing/collection-stub.js";
import { LeaseCount } from "./lease-count.js";

const HOUR_MS = 3_600_000;

let leases: CollectionStub;
let stub: ApiStub;
let clock: ManualClock;
let running: LeaseCount[];
let errors: unknown[];
let log: string[];

beforeEach(async () => {
  leases = new CollectionStub(leasesPath("kube-system"));
  stub = await ApiStub.start(leases.handle);
  clock = new ManualClock();
  running = [];
  errors = [];
  log = [];
});

afterEach(async () => {
  for (const count of running) await count.stop();
  await stub.close();
});

function counting(openApi = connect): LeaseCount {
  const count = new LeaseCount({
    namespace: "kube-system",
    labelSelector: "k8s-app=konnectivity-server",
    runtime: clock,
    openApi,
    onRequest: (verb, status, seconds, reason) => log.push(`${verb} ${status} ${reason}${seconds}`),
    onError: (reason) => errors.push(reason),
  });
  running.push(count);
  return count;
}

async function connect() {
  return createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock, qps: -1 });
}

/** `wrongMs`: by how much its holder's clock is ahead. */
function lease(name: string, app = "konnectivity-server", wrongMs = 0): Lease {
  return {
    metadata: { name, labels: { "k8s-app": app } },
    spec: { leaseDurationSeconds: 30, renewTime: new Date(clock.date() + wrongMs).toISOString() },
  };
}

function renew(...names: string[]): void {
  for (const name of names) leases.put(lease(name));
}

/** What was put last has come. */
async function renewals(count: LeaseCount): Promise<void> {
  leases.put(lease("last"));
  const others = count.count();
  await eventually(() => expect(count.count()).not.toBe(others));
  leases.remove("last");
  await eventually(() => expect(count.count()).toBe(others));
}

async function watching(): Promise<void> {
  await eventually(() => expect(leases.openWatches).toBe(1));
}

describe("the count of server leases", () => {
  test("counts valid leases that match, at least one", async () => {
    leases.put(lease("a"));
    leases.put(lease("foreign", "other"));
    const count = counting();
    await watching();
    expect(count.count()).toBe(1);
    leases.put(lease("b"));
    leases.put(lease("c"));
    await eventually(() => expect(count.count()).toBe(3));
    leases.remove("c");
    await eventually(() => expect(count.count()).toBe(2));
    // Only matching leases crossed the wire.
    expect(stub.requests.map(({ query }) => query.get("labelSelector"))).toEqual([
      "k8s-app=konnectivity-server",
      "k8s-app=konnectivity-server",
    ]);
    expect(log).toEqual(["list 200 0", "watch 200 0"]);
  });

  test("notices a lease that runs out, without any message about it", async () => {
    leases.put(lease("a"));
    clock.advance(20_000);
    leases.put(lease("b"));
    const count = counting();
    await watching();
    expect(count.count()).toBe(2);
    clock.advance(10_000);
    expect(count.count()).toBe(1);
  });

  test.each([6, -6])("counts on when this host's clock is set by %i hours", async (hours) => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    const count = counting();
    await watching();
    clock.step(hours * HOUR_MS);
    expect(count.count()).toBe(2);
    clock.advance(15_000);
    renew("a", "b");
    await eventually(() => expect(count.count()).toBe(2));
    clock.advance(30_000);
    expect(count.count()).toBe(1);
  });

  test.each([6, -6])("counts a server whose clock is set by %i hours, and not when it is dead", async (hours) => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    const count = counting();
    await watching();
    clock.advance(15_000);
    renew("a");
    leases.put(lease("b", undefined, hours * HOUR_MS));
    await renewals(count);
    clock.advance(16_000);
    expect(count.count()).toBe(2);
    renew("a");
    await renewals(count);
    clock.advance(15_000);
    expect(count.count()).toBe(1);
  });

  test("counts servers from their next renewal on where this host's clock was wrong from the start", async () => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    clock.step(6 * HOUR_MS);
    const count = counting();
    await watching();
    expect(count.count()).toBe(1);
    clock.step(-6 * HOUR_MS);
    clock.advance(15_000);
    renew("a", "b");
    clock.step(6 * HOUR_MS);
    await eventually(() => expect(count.count()).toBe(2));
  });

  test("does not count a lease without a duration", async () => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    leases.put({ ...lease("c"), spec: { renewTime: new Date(clock.date()).toISOString() } } as Lease);
    const count = counting();
    await watching();
    expect(count.count()).toBe(2);
  });

  test("starts at once and has no count while the API refuses", async () => {
    leases.intercept = (_, response) => {
      replyStatus(response, 403, "Forbidden", "leases is forbidden");
      return true;
    };
    const count = counting();
    expect(count.count()).toBeUndefined();
    await eventually(() => expect(errors).toHaveLength(1));
    expect(count.count()).toBeUndefined();
    expect(log).toEqual(["list 403 Forbidden0"]);
    leases.intercept = () => false;
    leases.put(lease("a"));
    leases.put(lease("b"));
    await eventually(() => expect(clock.waiting).toHaveLength(1));
    clock.advance(1200);
    await eventually(() => expect(count.count()).toBe(2));
  });

  test("keeps its count while the API is away, although the cached leases run out", async () => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    const count = counting();
    await watching();
    clock.advance(5000);
    leases.intercept = (_, response) => {
      replyStatus(response, 503, "ServiceUnavailable", "starting");
      return true;
    };
    leases.endWatches();
    await eventually(() => expect(errors).toHaveLength(1));
    clock.advance(600_000);
    expect(count.count()).toBe(2);
  });

  test("keeps trying to find the API at all", async () => {
    let attempts = 0;
    const count = counting(async () => {
      if (++attempts < 3) throw new Error("no kubeconfig yet");
      return connect();
    });
    leases.put(lease("a"));
    leases.put(lease("b"));
    for (const attempt of [1, 2]) {
      await eventually(() => expect([attempts, clock.waiting.length]).toEqual([attempt, 1]));
      clock.advance(clock.waiting[0]!);
    }
    await eventually(() => expect(count.count()).toBe(2));
    expect(errors).toHaveLength(2);
  });

  test("ends its watch when stopped", async () => {
    const count = counting();
    await watching();
    await count.stop();
    await eventually(() => expect(leases.openWatches).toBe(0));
    expect([clock.waiting, errors]).toEqual([[], []]);
  });
});
