import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../base/testing/eventually.js";
import { ManualClock } from "../../base/testing/manual-clock.js";
import { createKubeApi } from "./client.js";
import { ListWatch } from "./list-watch.js";
import type { KubeApi, KubeObject } from "./port.js";
import { ApiStub, replyStatus } from "./testing/api-stub.js";
import { CollectionStub } from "./testing/collection-stub.js";

const path = "/api/v1/things";
let things: CollectionStub;
let stub: ApiStub;
let api: KubeApi;
let clock: ManualClock;
let loop: ListWatch<KubeObject>;
let errors: unknown[];
let log: string[];

beforeEach(async () => {
  things = new CollectionStub(path);
  stub = await ApiStub.start(things.handle);
  clock = new ManualClock();
  api = createKubeApi({ server: stub.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock });
  errors = [];
  log = [];
  loop = new ListWatch({
    api,
    path,
    clock,
    labelSelector: "app=x",
    onError: (reason) => errors.push(reason),
    onRequest: (verb, status, seconds, reason) => log.push(`${verb} ${status} ${reason} ${seconds}`),
  });
});

afterEach(async () => {
  await loop.stop();
  api.close();
  await stub.close();
});

function thing(name: string, label = "x", note = ""): KubeObject {
  return { metadata: { name, labels: { app: label }, annotations: { note } } };
}

function names(): string[] {
  return [...loop.items.values()].map(({ metadata }) => metadata?.name + (metadata?.annotations?.note ?? "")).sort();
}

async function started(): Promise<void> {
  loop.start();
  await eventually(() => expect(things.openWatches).toBe(1));
}

function query(index: number): string {
  const { query } = stub.requests[index]!;
  return `${query.get("watch") === "true" ? "watch" : "list"} from ${query.get("resourceVersion")}`;
}

describe("ListWatch", () => {
  test("keeps up with additions, changes and deletions of what matches", async () => {
    things.put(thing("a"));
    things.put(thing("foreign", "y"));
    expect(loop.synced).toBe(false);
    await started();
    expect(loop.synced).toBe(true);
    expect(names()).toEqual(["a"]);
    things.put(thing("b"));
    things.put(thing("foreign2", "y"));
    things.put(thing("a", "x", "!"));
    await eventually(() => expect(names()).toEqual(["a!", "b"]));
    things.remove("a");
    await eventually(() => expect(names()).toEqual(["b"]));
    expect(stub.requests.every(({ query }) => query.get("labelSelector") === "app=x")).toBe(true);
    expect([query(0), query(1)]).toEqual(["list from 0", "watch from 102"]);
    expect(log).toEqual(["list 200  0", "watch 200  0"]);
  });

  test("goes on where an ended watch stopped, as far as bookmarks carried it", async () => {
    await started();
    things.send({ type: "BOOKMARK", object: { metadata: { resourceVersion: "777" } } });
    clock.advance(5000);
    things.put(thing("marker"));
    await eventually(() => expect(names()).toEqual(["marker"]));
    things.send({ type: "BOOKMARK", object: { metadata: { resourceVersion: "778" } } });
    things.endWatches();
    await eventually(() => expect(stub.requests).toHaveLength(3));
    expect(query(2)).toBe("watch from 778");
    expect(names()).toEqual(["marker"]);
    expect(errors).toEqual([]);
  });

  test("lists again when its version is too old, this time not from the cache", async () => {
    things.put(thing("a"));
    await started();
    clock.advance(5000);
    things.forget();
    things.objects.delete("a");
    things.endWatches();
    await eventually(() => expect(names()).toEqual([]));
    await eventually(() => expect(things.openWatches).toBe(1));
    expect([2, 3, 4].map(query)).toEqual(["watch from 101", "list from null", "watch from 102"]);
    expect(errors).toEqual([]);
  });

  test("keeps what it has while the API fails, and waits longer each time", async () => {
    things.put(thing("a"));
    await started();
    clock.advance(5000);
    things.intercept = (_, response) => {
      replyStatus(response, 500, "InternalError", "etcd is away");
      return true;
    };
    things.endWatches();
    const delays: number[] = [];
    for (let failure = 1; failure <= 8; failure++) {
      await eventually(() => expect([errors.length, clock.waiting.length]).toEqual([failure, 1]));
      delays.push(clock.waiting[0]!);
      clock.advance(clock.waiting[0]!);
    }
    for (const [index, base] of [800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 30_000].entries()) {
      expect(delays[index]).toBeGreaterThanOrEqual(base);
      expect(delays[index]).toBeLessThanOrEqual(base * 1.5);
    }
    expect(names()).toEqual(["a"]);
    // Its next request is due but not sent yet. The clock does not advance from here: its deadline would end that request.
    things.intercept = () => false;
    things.put(thing("b"));
    await eventually(() => expect(names()).toEqual(["a", "b"]));
    expect(log.slice(0, 5)).toEqual([
      "list 200  0",
      "watch 200  0",
      "watch 500 InternalError 0",
      "list 500 InternalError 0",
      "list 500 InternalError 0",
    ]);
  });

  test("waits between watches that end at once", async () => {
    await started();
    things.endWatches();
    await eventually(() => expect(clock.waiting[0]).toBeLessThanOrEqual(1200));
    expect(stub.requests).toHaveLength(2);
    clock.advance(1200);
    await eventually(() => expect(stub.requests).toHaveLength(3));
    expect(query(2)).toMatch(/^watch/);
  });

  test("stops while a list request has no answer yet", async () => {
    things.intercept = () => true;
    loop.start();
    await eventually(() => expect(stub.requests).toHaveLength(1));
    await loop.stop();
    expect([errors, log, clock.waiting]).toEqual([[], [], []]);
  });
});
