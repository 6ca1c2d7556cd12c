import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hastyClock } from "../../../base/testing/hasty-clock.js";
import { makePool, namespace, PoolFixture } from "../controller/testing/fixture.js";
import { defaultPolicy } from "../csr/request-context.js";
import { annotation } from "../objects.js";
import { NO_SHAPE } from "../providers/settings.js";
import { createMemoryApi } from "../testing/memory-api.js";
import {
  makeOptionsFor,
  planReplacements,
  planScale,
  prepare,
  replaceWorkers,
  scale,
  type WorkersContext,
  workersBehind,
} from "./change.js";
import { createWorkers } from "./machines.js";
import { WorkerStore } from "./store.js";
import { MemoryCluster } from "./testing/cluster.js";
import { RecordedProgress, testDeadline } from "./testing/progress.js";
import type { Worker } from "./worker.js";

const group = { pool: "clusters/workers", prefix: "w", zones: ["a", "b"] };

let fixture: PoolFixture;
let cluster: MemoryCluster;
let progress: RecordedProgress;
let store: WorkerStore;
let machines: string;
/** Machines that do not become nodes. */
let dead: Set<string>;

beforeEach(async () => {
  fixture = new PoolFixture();
  cluster = new MemoryCluster();
  progress = new RecordedProgress();
  dead = new Set();
  await fixture.addObjects(makePool());
  fixture.start();
  await vi.waitFor(
    async () => {
      expect((await fixture.secrets("user-data-")).length).toBe(1);
      expect((await fixture.pool()).metadata?.annotations?.[annotation.currentConfigVersion]).toBeDefined();
    },
    { timeout: 10_000 },
  );
  // It has done its part, and would only look at the directory all the time.
  await fixture.close(false);
  store = new WorkerStore({ api: createMemoryApi(), namespace, directory: join(fixture.directory, ".state") });
  machines = join(fixture.directory, ".machines.txt");
  writeFileSync(machines, "");
}, 20_000);
afterEach(() => fixture.close());

const log = () => readFileSync(machines, "utf8").trim().split("\n");
const names = async () => (await store.read()).map(({ name }) => name);
const hashOf = async () => (await fixture.pool()).metadata?.annotations?.[annotation.currentConfigVersion] ?? "";

async function changeAll(change: Partial<Worker>): Promise<void> {
  for (const name of await names()) await store.update(name, (worker) => ({ ...worker, ...change }));
}

/** Records the commands that it runs. */
const command = (verb: string) => ["sh", "-c", 'echo "$1 $2" >> "$0"', machines, verb, "{name}"];

/** What is made becomes a Ready node as soon as somebody waits for it; what is removed is not Ready any more. */
function boot(): void {
  for (const line of log()) {
    const [verb, name = ""] = line.split(" ");
    if (verb === "make" && !dead.has(name) && cluster.node(name) === undefined && !log().includes(`remove ${name}`)) {
      cluster.putNode(name);
    }
  }
}

const context = (change: Partial<WorkersContext> = {}): WorkersContext => ({
  clusters: { pools: fixture.api, nodes: cluster.api },
  pool: { namespace, name: "workers" },
  store,
  deadline: testDeadline(progress, { clock: hastyClock(boot), timeoutMs: 20_000 }),
  rules: { force: false, deleteEmptyDirData: false },
  drainMs: 5000,
  maxUnavailable: 1,
  joinWithinMs: 3_600_000,
  approval: { by: "anybody", namespace: "drawbridge", policy: defaultPolicy },
  ...change,
});

async function make(count: number): Promise<void> {
  const template = {
    ...{ provider: "command" as const, ownToken: true, setHostname: true, ignitionAddress: "" },
    shape: NO_SHAPE,
    ...{ createCommand: command("make"), deleteCommand: command("remove") },
  };
  await createWorkers(await makeOptionsFor(context()), { ...group, count }, template);
  boot();
}

async function replaced(old: readonly string[], change: Partial<WorkersContext> = {}): Promise<void> {
  await replaceWorkers(context(change), await planReplacements(context(change), old));
}

describe("replacing", () => {
  test("takes one worker down after the other, and can be repeated", async () => {
    await make(3);
    cluster.putPod("web", "w-1");
    await replaced(["w-1", "w-2"]);
    expect(log().slice(3)).toEqual(["remove w-1", "make w-3", "remove w-2", "make w-4"]);
    expect(await names()).toEqual(["w-0", "w-3", "w-4"]);
    expect((await store.read()).map(({ replaces, zone }) => [replaces, zone])).toEqual([
      [undefined, "a"],
      ["w-1", "b"],
      ["w-2", "a"],
    ]);
    expect([cluster.has("web"), cluster.node("w-1"), existsSync(store.userDataFile("w-1"))]).toEqual([
      false,
      undefined,
      false,
    ]);
    const order = cluster.writes.filter((write) => write.includes("w-1") || write.includes("eviction"));
    expect(order.slice(-3)).toEqual([
      "update /api/v1/nodes/w-1",
      "create /api/v1/namespaces/default/pods/web/eviction",
      "delete /api/v1/nodes/w-1",
    ]);
    const again = await planReplacements(context(), ["w-1"]);
    expect(again).toEqual([{ old: "w-1", fresh: "w-3", state: "done" }]);
    const before = log().length;
    await replaceWorkers(context(), again);
    expect(log().length).toBe(before);
  });

  test("installs a machine again under its name, and says so in its Worker", async () => {
    await make(2);
    const again = async () => planReplacements(context(), ["w-1"], true);
    expect(await again()).toEqual([{ old: "w-1", fresh: "w-1", state: "to be done" }]);
    const clock = hastyClock(() => {
      if (log().length === 4) cluster.putNode("w-1");
    });
    const deadline = testDeadline(progress, { clock, timeoutMs: 20_000 });
    await replaceWorkers(context({ deadline }), await again());
    expect(log()).toEqual(["make w-0", "make w-1", "remove w-1", "make w-1"]);
    expect((await store.read())[1]).toMatchObject({ name: "w-1", made: true, reinstalled: expect.any(String) });
    expect(existsSync(store.userDataFile("w-1"))).toBe(true);
  });

  test("leaves no user data of the old one behind, wherever it was killed", async () => {
    await make(1);
    // The new machine was made, and nothing after that was done.
    await changeAll({ replaces: "w-9" });
    await store.writeUserData("w-9", "a token");
    cluster.putNode("w-0", false);
    const plan = await planReplacements(context(), ["w-9"]);
    expect(plan).toEqual([{ old: "w-9", fresh: "w-0", state: "begun" }]);
    const clock = hastyClock(() => cluster.putNode("w-0"));
    await replaceWorkers(context({ deadline: testDeadline(progress, { clock, timeoutMs: 20_000 }) }), plan);
    expect(existsSync(store.userDataFile("w-9"))).toBe(false);
  });

  test("goes on where a provider failed, without making or removing anything twice", async () => {
    await make(2);
    await changeAll({ createCommand: ["false"] });
    await expect(replaced(["w-0"])).rejects.toThrow("false failed for w-2");
    expect((await store.read()).map(({ made, name }) => [name, made])).toEqual([
      ["w-1", true],
      ["w-2", false],
    ]);
    await changeAll({ createCommand: command("make") });
    const plan = await planReplacements(context(), ["w-0"]);
    expect(plan).toEqual([{ old: "w-0", fresh: "w-2", state: "begun" }]);
    await replaceWorkers(context(), plan);
    expect(log()).toEqual(["make w-0", "make w-1", "remove w-0", "make w-2"]);
  });

  test("stops when a machine cannot be removed, and records that the worker is leaving", async () => {
    await make(2);
    await changeAll({ deleteCommand: ["false"] });
    await expect(replaced(["w-0"])).rejects.toThrow("false failed for w-0");
    expect((await store.read())[0]).toMatchObject({ name: "w-0", leaving: "replaced" });
    // A machine that still runs is still seen.
    expect(cluster.node("w-0")?.spec?.unschedulable).toBe(true);
    await expect(planScale(context(), { ...group, count: 3 })).rejects.toThrow(
      "go on with drawbridge workers replace w-0",
    );
    await expect(prepare(context(), { ...group, count: 3 })).rejects.toThrow("w-0 is being replaced");
  });

  test("begins no second one while the first is not Ready", async () => {
    await make(3);
    dead.add("w-3");
    await expect(replaced(["w-0", "w-1"])).rejects.toThrow("w-3 is not Ready after 20 s");
    expect(log().slice(3)).toEqual(["remove w-0", "make w-3"]);
    expect(cluster.node("w-1")?.spec?.unschedulable).toBeUndefined();
    await expect(replaced(["w-1"])).rejects.toThrow("w-1 is not touched: w-3 not Ready, and --max-unavailable is 1");
    // The one that is of no use may go, and so may others when more may be missing.
    await replaced(["w-3"]);
    await replaced(["w-1"], { maxUnavailable: 2 });
    expect(await names()).toEqual(["w-2", "w-4", "w-5"]);
  });

  test("takes several workers at a time when --max-unavailable allows it", async () => {
    await make(4);
    await replaced(["w-0", "w-1", "w-2"], { maxUnavailable: 2 });
    const removals = log().map((line, index) => [line, index] as const);
    const at = (line: string) => removals.find(([one]) => one === line)?.[1] ?? -1;
    expect(at("remove w-1")).toBeLessThan(Math.max(at("make w-4"), at("make w-5")));
    expect(await names()).toEqual(["w-3", "w-4", "w-5", "w-6"]);
  });

  test("changes nothing when pods prevent draining or the name is unknown", async () => {
    await make(2);
    cluster.putPod("stray", "w-1", { metadata: { ownerReferences: [] } });
    cluster.writes.length = 0;
    await expect(replaced(["w-0", "w-1"])).rejects.toThrow("default/stray would not be started elsewhere");
    await expect(replaced(["w-7"])).rejects.toThrow("there is no worker w-7: there is w-0, w-1");
    expect([cluster.writes, (await store.read()).some(({ leaving }) => leaving)]).toEqual([[], false]);
  });

  test("finds those that are behind by what their nodes say, and those that were left in the middle", async () => {
    await make(3);
    cluster.putNode("w-1", true, { metadata: { annotations: { [annotation.currentConfigVersion]: "00000000" } } });
    expect(await workersBehind(context())).toEqual(["w-1"]);
    dead.add("w-3");
    await expect(replaced(["w-1"])).rejects.toThrow("w-3 is not Ready");
    expect(await workersBehind(context())).toEqual(["w-1"]);
  });
});

describe("scaling", () => {
  test("makes more as the newest was made, and waits for them", async () => {
    await make(1);
    const plan = await planScale(context(), { ...group, count: 3 });
    expect([plan.leave, plan.make]).toEqual([[], ["w-1", "w-2"]]);
    await scale(context(), plan);
    expect(log()).toEqual(["make w-0", "make w-1", "make w-2"]);
    expect(cluster.node("w-2")?.metadata?.annotations?.[annotation.currentConfigVersion]).toBe(await hashOf());
  });

  test("removes first the workers that are not Ready, then those that are behind, then the youngest", async () => {
    await make(4);
    cluster.putNode("w-0", false);
    cluster.putNode("w-1", true, { metadata: { annotations: { [annotation.currentConfigVersion]: "00000000" } } });
    const leave = async (count: number) => (await planScale(context(), { ...group, count })).leave;
    expect(await leave(3)).toEqual(["w-0"]);
    expect(await leave(2)).toEqual(["w-0", "w-1"]);
    expect(await leave(1)).toEqual(["w-0", "w-1", "w-3"]);
    expect(await leave(0)).toEqual(["w-0", "w-1", "w-2", "w-3"]);
  });

  test("goes on with those that were leaving, and takes their tokens and their places", async () => {
    await make(3);
    cluster.putPod("web", "w-1");
    cluster.held.add("web");
    const first = await planScale(context(), { ...group, count: 1 });
    await expect(scale(context(), first)).rejects.toThrow("could not be drained in time");
    expect((await store.read()).filter(({ leaving }) => leaving === "removed").length).toBe(2);
    cluster.held.clear();
    // Whatever is wanted now: those that began to leave leave.
    const second = await planScale(context(), { ...group, count: 2 });
    expect([second.leave, second.make]).toEqual([["w-1", "w-2"], ["w-3"]]);
    await scale(context(), second);
    expect(await names()).toEqual(["w-0", "w-3"]);
    const [tokens] = await fixture.secrets("worker-tokens-");
    expect(Object.keys(tokens?.data ?? {})).toEqual(["w-0", "w-3"]);
  });

  test("is refused where there is no worker yet", async () => {
    await expect(planScale(context(), { ...group, count: 1 })).rejects.toThrow(
      "drawbridge workers up makes the first ones",
    );
  });
});
