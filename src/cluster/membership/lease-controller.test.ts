import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { createKubeApi } from "../kube/client.js";
import { type Lease, leasesPath } from "../kube/lease.js";
import type { KubeApi } from "../kube/port.js";
import { ApiStub, replyStatus } from "../kube/testing/api-stub.js";
import { CollectionStub } from "../kube/testing/collection-stub.js";
import { LeaseController } from "./lease-controller.js";

const HOUR_MS = 3_600_000;
const labels = { "k8s-app": "konnectivity-server", a: "b" };
const name = "konnectivity-proxy-server-s1";
const path = leasesPath("kube-system");

let leases: CollectionStub;
let stub: ApiStub;
let api: KubeApi;
let clock: ManualClock;
let controller: LeaseController;
let errors: string[];
let log: string[];

beforeEach(async () => {
  leases = new CollectionStub(path);
  stub = await ApiStub.start(leases.handle);
  clock = new ManualClock();
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock, qps: -1 });
  errors = [];
  log = [];
  controller = new LeaseController({
    api,
    runtime: clock,
    serverId: "s1",
    namespace: "kube-system",
    labels,
    onRequest: (verb, status, seconds, reason) => log.push(`${verb} ${status} ${reason}${seconds}`),
    onError: (sentence) => errors.push(sentence),
  });
});

afterEach(async () => {
  leases.intercept = () => false;
  await controller.stop();
  api.close();
  await stub.close();
});

function own(): Lease | undefined {
  return leases.objects.get(name);
}

function calls(method: string): number {
  return stub.requests.filter((request) => request.method === method).length;
}

/** Both loops have done their work and wait: the collector for 15 s, the renewal for up to 15.6 s. */
async function resting(): Promise<void> {
  await eventually(() => {
    expect(clock.waiting).toHaveLength(2);
    expect(clock.waiting[0]).toBeLessThanOrEqual(15_000);
    expect(clock.waiting[1]).toBeLessThanOrEqual(15_600);
    expect(clock.waiting[0]).toBeGreaterThan(14_000);
  });
}

async function started(): Promise<void> {
  controller.start();
  await resting();
}

/** The collector has looked so many times more, and the own lease was renewed as often. */
async function rounds(count: number): Promise<void> {
  for (let round = 0; round < count; round++) {
    clock.advance(15_600);
    await resting();
  }
}

function expired(labelled: Record<string, string> = labels, spec: object = {}): Lease {
  return {
    metadata: { name: "old", labels: labelled },
    spec: { leaseDurationSeconds: 30, renewTime: new Date(clock.date() - 31_000).toISOString(), ...spec },
  };
}

describe("own lease", () => {
  test("is made as upstream's agents expect it", async () => {
    await started();
    expect(controller.leaseName).toBe(name);
    expect(own()).toEqual({
      apiVersion: "coordination.k8s.io/v1",
      kind: "Lease",
      metadata: { name, namespace: "kube-system", labels, resourceVersion: "101" },
      spec: { holderIdentity: "s1", leaseDurationSeconds: 30, renewTime: "2031-01-01T00:00:00.000000Z" },
    });
  });

  test("is renewed every fifteen seconds, a little spread, without reading it again", async () => {
    await started();
    const gets = calls("GET");
    clock.advance(14_999);
    expect(calls("PUT")).toBe(0);
    clock.advance(601);
    await eventually(() => expect(own()?.spec?.renewTime).toMatch(/^2031-01-01T00:00:15\.\d{3}000Z$/));
    await resting();
    // One more list by the collector, no GET of the lease.
    expect([calls("PUT"), calls("GET")]).toEqual([1, gets + 1]);
    expect(errors).toEqual([]);
  });

  test("takes over what a former run left, labels included", async () => {
    leases.put({
      metadata: { name, labels: { stale: "yes" } },
      spec: { holderIdentity: "s1", leaseTransitions: 4 },
    } as Lease);
    await started();
    await eventually(() => expect(own()?.spec?.renewTime).toBe("2031-01-01T00:00:00.000000Z"));
    expect(own()?.metadata?.labels).toEqual(labels);
    expect(own()?.spec).toMatchObject({ leaseTransitions: 4, leaseDurationSeconds: 30 });
  });

  test("survives somebody else's write, and its deletion", async () => {
    await started();
    leases.put({ ...own()!, metadata: { ...own()!.metadata, annotations: { by: "hand" } } });
    clock.advance(15_600);
    await eventually(() => expect(own()?.spec?.renewTime).toContain("T00:00:15"));
    expect(own()?.metadata?.annotations).toEqual({ by: "hand" });
    await resting();
    leases.remove(name);
    clock.advance(15_600);
    await eventually(() => expect(own()?.spec?.renewTime).toContain("T00:00:3"));
    expect(errors).toHaveLength(2);
  });

  test("is read and written at once after a failure, and then after pauses", async () => {
    await started();
    let refusals = 0;
    leases.intercept = ({ method }, response) => {
      if (method !== "PUT" || refusals === 3) return false;
      refusals++;
      replyStatus(response, 500, "InternalError", "etcd is away");
      return true;
    };
    clock.advance(15_600);
    for (const [failures, pauseMs] of [
      [2, 200],
      [3, 400],
    ] as const) {
      await eventually(() => expect([errors.length, clock.waiting[0]]).toEqual([failures, pauseMs]));
      clock.advance(pauseMs);
    }
    await eventually(() => expect(own()?.spec?.renewTime).toContain("T00:00:16"));
    expect(errors[0]).toMatch(/^the lease konnectivity-proxy-server-s1 could not be renewed: .*etcd is away$/);
    const ownCalls = stub.requests.filter((request) => request.path === `${path}/${name}`).map(({ method }) => method);
    expect(ownCalls.slice(1)).toEqual(["PUT", "GET", "PUT", "GET", "PUT", "GET", "PUT"]);
  });

  test("waits longer and longer while it cannot be made", async () => {
    leases.intercept = ({ path: asked }, response) => {
      if (asked === path) return false;
      replyStatus(response, 403, "Forbidden", "no");
      return true;
    };
    controller.start();
    const delays: number[] = [];
    for (let failure = 1; failure <= 7; failure++) {
      await eventually(() => {
        expect(errors).toHaveLength(failure);
        expect(clock.waiting.length).toBe(2);
      });
      const delay = clock.waiting[0]!;
      delays.push(delay);
      clock.advance(delay);
    }
    expect(delays.slice(0, 6)).toEqual([200, 400, 800, 1600, 3200, 6400]);
  });

  test("is deleted at the end", async () => {
    await started();
    await controller.stop();
    expect(own()).toBeUndefined();
    expect([clock.waiting, errors]).toEqual([[], []]);
  });

  test("says when it had to be left behind", async () => {
    await started();
    leases.intercept = ({ method }, response) => {
      if (method === "DELETE") replyStatus(response, 403, "Forbidden", "no delete for you");
      return method === "DELETE";
    };
    await controller.stop();
    expect(errors).toEqual([expect.stringMatching(/was left behind: .*no delete for you/)]);
  });

  test("does not come back by a renewal that was under way at the end", async () => {
    await started();
    let release: (() => void) | undefined;
    let tooEarly = false;
    leases.intercept = (request, response) => {
      if (request.method === "DELETE") tooEarly = release !== undefined;
      if (request.method !== "PUT") return false;
      release = () => {
        release = undefined;
        leases.intercept = () => false;
        void leases.handle(request, response);
      };
      return true;
    };
    clock.advance(15_600);
    await eventually(() => expect(release).toBeDefined());
    const stopped = controller.stop();
    // Two whole requests later a hasty DELETE would have arrived.
    for (let n = 0; n < 2; n++) await api.list(path);
    release?.();
    await stopped;
    expect(tooEarly).toBe(false);
    expect(own()).toBeUndefined();
  });
});

describe("collecting", () => {
  test.each<[string, Partial<Lease["spec"]>]>([
    ["without a duration", { leaseDurationSeconds: undefined, renewTime: "2031-01-01T00:00:00Z" } as object],
    ["without a time", { renewTime: undefined } as object],
  ])("removes a lease %s and reports it", async (_, spec) => {
    leases.put(expired(labels, spec));
    await started();
    expect(leases.objects.has("old")).toBe(false);
    expect(log).toEqual(["list 200 0", "delete 200 0"]);
    const list = stub.requests.find((request) => request.path === path && request.method === "GET");
    expect(list?.query.get("labelSelector")).toBe("a=b,k8s-app=konnectivity-server");
  });

  test.each([0, 6 * HOUR_MS, -6 * HOUR_MS])(
    "removes a lease that nobody renewed for its whole duration, with a clock that is %i ms wrong",
    async (wrongMs) => {
      leases.put(expired());
      clock.step(wrongMs);
      await started();
      await rounds(1);
      expect([leases.objects.has("old"), log]).toEqual([true, ["list 200 0", "list 200 0"]]);
      await rounds(1);
      expect([leases.objects.has("old"), log.at(-1)]).toEqual([false, "delete 200 0"]);
    },
  );

  test.each([6, -6])("leaves the leases of others alone when this host's clock is set by %i hours", async (hours) => {
    await started();
    for (let round = 0; round < 5; round++) {
      leases.put(expired(labels, { renewTime: new Date(clock.date()).toISOString() }));
      if (round === 1) clock.step(hours * HOUR_MS);
      await rounds(1);
    }
    expect(leases.objects.has("old")).toBe(true);
    expect(log.filter((line) => line.startsWith("delete"))).toEqual([]);
  });

  test("leaves alone what is valid or somebody else's", async () => {
    leases.put({ ...expired({ "k8s-app": "other" }), metadata: { name: "foreign", labels: { a: "b" } } });
    leases.put(expired(labels, { leaseDurationSeconds: 60 }));
    await started();
    await rounds(3);
    expect([...leases.objects.keys()].sort()).toEqual(["foreign", name, "old"]);
    expect(new Set(log)).toEqual(new Set(["list 200 0"]));
  });

  test("does not delete a lease that was renewed after the list", async () => {
    leases.put(expired());
    leases.intercept = ({ method }) => {
      if (method === "DELETE") leases.put(expired(labels, { renewTime: new Date(clock.date()).toISOString() }));
      return false;
    };
    await started();
    await rounds(2);
    expect(leases.objects.has("old")).toBe(true);
    expect(log.at(-1)).toBe("delete 409 Conflict0");
    expect(errors).toEqual([expect.stringMatching(/expired lease old could not be deleted/)]);
  });

  test("does not complain when another server was quicker", async () => {
    leases.put(expired());
    leases.intercept = ({ method }) => {
      if (method === "DELETE") leases.remove("old");
      return false;
    };
    await started();
    await rounds(2);
    expect(log.at(-1)).toBe("delete 404 NotFound0");
    expect(errors).toEqual([]);
  });

  test("looks every fifteen seconds, also after a failure", async () => {
    leases.intercept = ({ method, path: asked }, response) => {
      if (method === "GET" && asked === path) replyStatus(response, 403, "Forbidden", "no list");
      return method === "GET" && asked === path;
    };
    await started();
    expect(log).toEqual(["list 403 Forbidden0"]);
    leases.intercept = () => false;
    clock.advance(15_000);
    await eventually(() => expect(log).toEqual(["list 403 Forbidden0", "list 200 0"]));
  });
});
