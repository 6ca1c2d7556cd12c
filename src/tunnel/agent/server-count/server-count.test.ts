import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createKubeApi } from "../../../cluster/kube/client.js";
import { type Lease, leasesPath } from "../../../cluster/kube/lease.js";
import { ApiStub, replyStatus } from "../../../cluster/kube/testing/api-stub.js";
import { CollectionStub } from "../../../cluster/kube/testing/collection-stub.js";
import { eventually } from "../../../cluster/kube/testing/eventually.js";
import { ManualClock } from "../../../cluster/kube/testing/manual-clock.js";
import { createServerCount, type ServerCount } from "./server-count.js";

const kube = { kubeconfig: "", qps: 0, burst: 0 };
let leases: CollectionStub;
let stub: ApiStub;
let clock: ManualClock;
let running: ServerCount[];
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

function counting(source: "default" | "max", openApi = connect): ServerCount {
  const count = createServerCount({
    config: {
      kube,
      serverCountSource: source,
      leases: { namespace: "kube-system", labelSelector: "k8s-app=konnectivity-server" },
    },
    clock,
    openApi,
    onListed: (status, seconds, reason) => log.push(`list ${status} ${reason}${seconds}`),
    onWatched: (status, reason) => log.push(`watch ${status} ${reason}`),
    onError: (reason) => errors.push(reason),
  });
  running.push(count);
  return count;
}

async function connect() {
  return createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock, qps: -1 });
}

function lease(name: string, app = "konnectivity-server"): Lease {
  return {
    metadata: { name, labels: { "k8s-app": app } },
    spec: { leaseDurationSeconds: 30, renewTime: new Date(clock.now()).toISOString() },
  };
}

async function watching(): Promise<void> {
  await eventually(() => expect(leases.openWatches).toBe(1));
}

describe("without leases", () => {
  test("believes the last server it heard, and asks nobody", async () => {
    const openApi = vi.fn(connect);
    const count = createServerCount({ config: { kube, serverCountSource: "default" }, openApi });
    running.push(count);
    count.start();
    expect(count.wanted()).toBe(1);
    count.received(3);
    expect(count.wanted()).toBe(3);
    count.received(2);
    expect(count.wanted()).toBe(2);
    count.received(0);
    expect(count.wanted()).toBe(1);
    expect(openApi).not.toHaveBeenCalled();
  });
});

describe("with leases", () => {
  test("counts valid leases that match, at least one", async () => {
    leases.put(lease("a"));
    leases.put(lease("foreign", "other"));
    const count = counting("default");
    count.received(7);
    count.start();
    await watching();
    expect(count.wanted()).toBe(1);
    leases.put(lease("b"));
    leases.put(lease("c"));
    await eventually(() => expect(count.wanted()).toBe(3));
    leases.remove("c");
    await eventually(() => expect(count.wanted()).toBe(2));
    // Only matching leases crossed the wire.
    expect(stub.requests.map(({ query }) => query.get("labelSelector"))).toEqual([
      "k8s-app=konnectivity-server",
      "k8s-app=konnectivity-server",
    ]);
    expect(log).toEqual(["list 200 0", "watch 200 "]);
  });

  test("takes the larger of leases and announcement as `max`", async () => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    const count = counting("max");
    count.start();
    await watching();
    expect(count.wanted()).toBe(2);
    count.received(5);
    expect(count.wanted()).toBe(5);
    count.received(1);
    expect(count.wanted()).toBe(2);
  });

  test("notices a lease that runs out, without any message about it", async () => {
    leases.put(lease("a"));
    clock.advance(20_000);
    leases.put(lease("b"));
    const count = counting("default");
    count.start();
    await watching();
    expect(count.wanted()).toBe(2);
    clock.advance(10_000);
    expect(count.wanted()).toBe(1);
  });

  test("does not count a lease without a duration", async () => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    leases.put({ ...lease("c"), spec: { renewTime: new Date(clock.now()).toISOString() } } as Lease);
    const count = counting("default");
    count.start();
    await watching();
    expect(count.wanted()).toBe(2);
  });

  test("starts at once and goes by the announcement while the API refuses", async () => {
    leases.intercept = (_, response) => {
      replyStatus(response, 403, "Forbidden", "leases is forbidden");
      return true;
    };
    const count = counting("default");
    count.received(3);
    count.start();
    expect(count.wanted()).toBe(3);
    await eventually(() => expect(errors).toHaveLength(1));
    expect(count.wanted()).toBe(3);
    expect(log).toEqual(["list 403 Forbidden0"]);
    leases.intercept = () => false;
    leases.put(lease("a"));
    leases.put(lease("b"));
    await eventually(() => expect(clock.waiting).toHaveLength(1));
    clock.advance(1200);
    await eventually(() => expect(count.wanted()).toBe(2));
  });

  test("keeps its count while the API is away, although the leases it knows run out", async () => {
    leases.put(lease("a"));
    leases.put(lease("b"));
    const count = counting("default");
    count.start();
    await watching();
    clock.advance(5000);
    leases.intercept = (_, response) => {
      replyStatus(response, 503, "ServiceUnavailable", "starting");
      return true;
    };
    leases.endWatches();
    await eventually(() => expect(errors).toHaveLength(1));
    clock.advance(600_000);
    expect(count.wanted()).toBe(2);
  });

  test("keeps trying to find the API at all", async () => {
    let attempts = 0;
    const count = counting("default", async () => {
      if (++attempts < 3) throw new Error("no kubeconfig yet");
      return connect();
    });
    leases.put(lease("a"));
    leases.put(lease("b"));
    count.start();
    for (const attempt of [1, 2]) {
      await eventually(() => expect([attempts, clock.waiting]).toEqual([attempt, [10_000]]));
      clock.advance(10_000);
    }
    await eventually(() => expect(count.wanted()).toBe(2));
    expect(errors).toHaveLength(2);
  });

  test("ends its watch when stopped", async () => {
    const count = counting("default");
    count.start();
    await watching();
    await count.stop();
    await eventually(() => expect(leases.openWatches).toBe(0));
    expect([clock.waiting, errors]).toEqual([[], []]);
  });
});
