import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KubeApiError } from "../../kube/errors.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { failureEvents } from "./run.js";
import { clusterMap, makePool, namespace, PoolFixture } from "./testing/fixture.js";

let house: PoolFixture;

beforeEach(() => {
  house = new PoolFixture();
  house.pace = 20;
});

afterEach(() => house.close());

const soon = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 10_000, interval: 20 });

/** A controller whose events go through this. */
async function startWith(create: (path: string, event: KubeObject) => Promise<KubeObject>): Promise<void> {
  const api = { ...house.api, create } as KubeApi;
  const onError = (sentence: string) => house.errors.push(sentence);
  await house.addObjects(makePool());
  house.start({ onFailure: failureEvents(api, namespace, onError, () => Date.parse("2031-01-01T00:00:00Z")) });
}

const lacking = (pullSecret: string) =>
  house.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), {
    ...clusterMap,
    data: { ...clusterMap.data, pullSecret },
  } as KubeObject);

test("tells of a failure on the pool, once for each, however often it is tried", async () => {
  const events: [string, KubeObject][] = [];
  await startWith(async (path, event) => {
    events.push([path, event]);
    return event;
  });
  await soon(async () => expect((await house.pool()).status?.version).toBe("4.18.0"));
  expect(events).toEqual([]);
  await lacking("first");
  await soon(() => expect(events.length).toBe(1));
  const passes = house.passes.length;
  await soon(() => expect(house.passes.length).toBeGreaterThan(passes + 3));
  await lacking("second");
  await soon(() => expect(events.length).toBe(2));
  const { uid } = (await house.pool()).metadata ?? {};
  expect(events[0]).toEqual([
    `/api/v1/namespaces/${namespace}/events`,
    {
      apiVersion: "v1",
      kind: "Event",
      metadata: { generateName: "workers.", namespace },
      involvedObject: {
        ...{ apiVersion: "hypershift.openshift.io/v1beta1", kind: "NodePool", namespace, name: "workers", uid },
      },
      type: "Warning",
      reason: "ReconcileError",
      message: "the pull secret first is missing or has no key .dockerconfigjson",
      ...{ count: 1, firstTimestamp: "2031-01-01T00:00:00Z", lastTimestamp: "2031-01-01T00:00:00Z" },
      source: { component: "drawbridge-nodepool-controller" },
    },
  ]);
});

test("waits for nobody, and says when an event cannot be written", async () => {
  await startWith(() => Promise.reject(new KubeApiError("no right to create events", { status: 403 })));
  await lacking("first");
  await soon(() => expect(house.errors.join()).toContain("an event was not written: no right to create events"));
});

test("does not tell of a failure again because a pass in between had an old copy", async () => {
  await house.addObjects(makePool("workers", { config: [{ name: "gone" }] }));
  const events: KubeObject[] = [];
  const create = async (_path: string, event: KubeObject) => events.push(event);
  const api = { ...house.api, create } as unknown as KubeApi;
  let catchUp = () => {};
  const behind = new Promise<void>((resolve) => {
    catchUp = resolve;
  });
  let hasReported = false;
  const controller = house.start({
    onFailure: failureEvents(api, namespace, () => {}),
    api: {
      ...house.api,
      update: (path, object, options) => {
        hasReported ||= path.endsWith("/status");
        return house.api.update(path, object, options);
      },
      watch: async function* (path, options) {
        const over = new Promise((done) => options.signal.addEventListener("abort", done));
        for await (const event of house.api.watch<never>(path, options)) {
          if (hasReported && path.endsWith("nodepools")) await Promise.race([behind, over]);
          yield event;
        }
      },
    },
  });
  const passesFrom = async (before: number) => soon(() => expect(house.passes.length).toBeGreaterThan(before + 2));
  await soon(() => expect(events.length).toBe(1));
  await passesFrom(house.passes.length);
  catchUp();
  const seen = () => controller.view.pools.get(`${namespace}/workers`)?.status?.conditions?.length;
  await soon(() => expect(seen()).toBeGreaterThan(0));
  await passesFrom(house.passes.length);
  expect(events.length).toBe(1);
});

test("what only waits for a change is no failure", async () => {
  const create = vi.fn();
  await startWith(create);
  await house.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), {
    ...clusterMap,
    data: { ...clusterMap.data, ignitionEndpoint: "" },
  } as KubeObject);
  await soon(() => expect(house.errors.join()).toContain("Ignition server is not known"));
  expect(create).not.toHaveBeenCalled();
});
