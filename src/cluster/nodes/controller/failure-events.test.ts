import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { KubeApiError } from "../../kube/errors.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi, KubeObject } from "../../kube/port.js";
import { failureEvents } from "./run.js";
import { clusterMap, makePool, namespace, PoolFixture } from "./testing/fixture.js";

let fixture: PoolFixture;

beforeEach(() => {
  fixture = new PoolFixture();
  fixture.pace = 20;
});

afterEach(() => fixture.close());

const soon = (check: () => void | Promise<void>) => vi.waitFor(check, { timeout: 10_000, interval: 20 });

/** A controller whose events go through this. */
async function startWith(create: (path: string, event: KubeObject) => Promise<KubeObject>): Promise<void> {
  const api = { ...fixture.api, create } as KubeApi;
  const onError = (sentence: string) => fixture.errors.push(sentence);
  await fixture.addObjects(makePool());
  fixture.start({ onFailure: failureEvents(api, namespace, onError, () => Date.parse("2031-01-01T00:00:00Z")) });
}

const lacking = (pullSecret: string) =>
  fixture.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), {
    ...clusterMap,
    data: { ...clusterMap.data, pullSecret },
  } as KubeObject);

test("each failure of a pass becomes one event on the pool, however often it is repeated", async () => {
  const events: [string, KubeObject][] = [];
  await startWith(async (path, event) => {
    events.push([path, event]);
    return event;
  });
  await soon(async () => expect((await fixture.pool()).status?.version).toBe("4.18.0"));
  expect(events).toEqual([]);
  await lacking("first");
  await soon(() => expect(events.length).toBe(1));
  const passes = fixture.passes.length;
  await soon(() => expect(fixture.passes.length).toBeGreaterThan(passes + 3));
  await lacking("second");
  await soon(() => expect(events.length).toBe(2));
  const { uid } = (await fixture.pool()).metadata ?? {};
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

test("an event is not waited for, and a failure to write it is reported", async () => {
  await startWith(() => Promise.reject(new KubeApiError("no right to create events", { status: 403 })));
  await lacking("first");
  await soon(() => expect(fixture.errors.join()).toContain("an event was not written: no right to create events"));
});

test("a pass over an old copy does not repeat the event of a failure", async () => {
  await fixture.addObjects(makePool("workers", { config: [{ name: "gone" }] }));
  const events: KubeObject[] = [];
  const create = async (_path: string, event: KubeObject) => events.push(event);
  const api = { ...fixture.api, create } as unknown as KubeApi;
  let catchUp = () => {};
  const behind = new Promise<void>((resolve) => {
    catchUp = resolve;
  });
  let hasReported = false;
  const controller = fixture.start({
    onFailure: failureEvents(api, namespace, () => {}),
    api: {
      ...fixture.api,
      update: (path, object, options) => {
        hasReported ||= path.endsWith("/status");
        return fixture.api.update(path, object, options);
      },
      watch: async function* (path, options) {
        const over = new Promise((done) => options.signal.addEventListener("abort", done));
        for await (const event of fixture.api.watch<never>(path, options)) {
          if (hasReported && path.endsWith("nodepools")) await Promise.race([behind, over]);
          yield event;
        }
      },
    },
  });
  const passesFrom = async (before: number) => soon(() => expect(fixture.passes.length).toBeGreaterThan(before + 2));
  await soon(() => expect(events.length).toBe(1));
  await passesFrom(fixture.passes.length);
  catchUp();
  const seen = () => controller.view.pools.get(`${namespace}/workers`)?.status?.conditions?.length;
  await soon(() => expect(seen()).toBeGreaterThan(0));
  await passesFrom(fixture.passes.length);
  expect(events.length).toBe(1);
});

test("a pass that waits for a change makes no event", async () => {
  const create = vi.fn();
  await startWith(create);
  await fixture.api.update(namedPath("ConfigMap", { namespace, name: "demo" }), {
    ...clusterMap,
    data: { ...clusterMap.data, ignitionEndpoint: "" },
  } as KubeObject);
  await soon(() => expect(fixture.errors.join()).toContain("Ignition server is not known"));
  expect(create).not.toHaveBeenCalled();
});
