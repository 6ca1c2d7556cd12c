import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { hastyClock } from "../../../base/testing/hasty-clock.js";
import { KubeApiError } from "../../kube/errors.js";
import { namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { makePool, namespace, PoolFixture } from "../controller/testing/fixture.js";
import { defaultPolicy } from "../csr/request-context.js";
import { annotation } from "../objects.js";
import { MACHINES_ANNOTATION, type NodePool, type NodePoolSpec } from "../pool/node-pool.js";
import { NO_SHAPE } from "../providers/settings.js";
import { createMemoryApi } from "../testing/memory-api.js";
import { nodePath } from "../workers/node.js";
import type { WorkerObject } from "../workers/resource.js";
import { WorkerStore } from "../workers/store.js";
import { MemoryCluster } from "../workers/testing/cluster.js";
import { RecordedProgress } from "../workers/testing/progress.js";
import { PoolMachines, type PoolMachinesOptions } from "./pool-machines.js";
import { ACKNOWLEDGED_ANNOTATION } from "./rules.js";

const MINUTE = 60_000;
const name = { namespace, name: "workers" };

let fixture: PoolFixture;
let cluster: MemoryCluster;
let progress: RecordedProgress;
let workersApi: KubeApi;
let commands: string;
let failing: string;
let told: string[];
let leads: boolean;
let ahead: number;
/** By how much somebody set the host's clock. */
let setBy: number;
let machines: PoolMachines;
const dead = new Set<string>();

/** Commands fail while there is a file of this name. */
const command = (verb: string) => [
  ...["sh", "-c", 'test ! -e "$1" || { echo no quota >&2; exit 3; }; echo "$2 $3" >> "$0"'],
  ...[commands, `${failing}-${verb}`, verb, "{name}"],
];

const log = () => readFileSync(commands, "utf8").trim().split("\n").filter(Boolean);

/** What was made becomes a Ready node. */
function boot(): void {
  for (const line of log()) {
    const [verb, node = ""] = line.split(" ");
    const isThere = cluster.node(node) !== undefined || log().includes(`remove ${node}`) || dead.has(node);
    if (verb === "make" && !isThere) cluster.putNode(node);
  }
}

const base = hastyClock();
const clock = { ...base, now: () => base.now() + ahead, date: () => base.date() + ahead + setBy };

function controller(change: Partial<PoolMachinesOptions> = {}): PoolMachines {
  const store = () => new WorkerStore({ api: workersApi, namespace, directory: join(fixture.directory, ".state") });
  return new PoolMachines(name, {
    ...{ clusters: { pools: fixture.api, nodes: cluster.api }, clock, provider: "command", progress: () => progress },
    machines: () => ({
      group: { pool: "clusters/workers", prefix: "workers", count: 1, zones: [] },
      template: {
        ...{ provider: "command", ownToken: true, setHostname: true, ignitionAddress: "", shape: NO_SHAPE },
        ...{ createCommand: command("make"), deleteCommand: command("remove") },
      },
    }),
    reader: store,
    withPool: (_, use) => use(store()),
    approval: { by: "anybody", namespace, policy: defaultPolicy },
    rules: { force: false, deleteEmptyDirData: false },
    ...{ joinWithinMs: 120 * MINUTE, intervalMs: 1000, leading: () => leads, signal: new AbortController().signal },
    tell: (_, { message, reason }) => void told.push(`${reason}: ${message}`),
    ...change,
  });
}

async function pass(times = 1): Promise<void> {
  for (let left = times; left > 0; left--) {
    await machines.pass(await fixture.pool(), undefined);
    boot();
  }
}

/** To the value, which is on the pool from then on. */
const annotate = (key: string, value: string) =>
  fixture.change("workers", (pool) => ({
    ...pool,
    metadata: { ...pool.metadata, annotations: { ...pool.metadata?.annotations, [key]: value } },
  }));

const spec = (change: Partial<NodePoolSpec>) =>
  fixture.change("workers", (pool) => ({ ...pool, spec: { ...pool.spec, ...change } }));

const rolling = (maxSurge: number, maxUnavailable: number): Partial<NodePoolSpec> => ({
  management: { upgradeType: "Replace", replace: { rollingUpdate: { maxSurge, maxUnavailable } } },
});

async function condition(type: string): Promise<string> {
  const found = (await fixture.pool()).status?.conditions?.find((each) => each.type === type);
  return `${found?.status} ${found?.reason}: ${found?.message}`;
}

const replicas = async () => (await fixture.pool()).status?.replicas;

/** As machines of an older configuration. */
function age(...names: readonly string[]): void {
  for (const one of names)
    cluster.putNode(one, true, { metadata: { annotations: { [annotation.currentConfigVersion]: "old" } } });
}

function makeUnready(one: string, minutesAgo: number): void {
  const node = cluster.node(one)!;
  const lastTransitionTime = new Date(clock.date() - minutesAgo * MINUTE).toISOString();
  const conditions = [{ type: "Ready", status: "Unknown", reason: "NodeStatusUnknown", lastTransitionTime }];
  cluster.objects.set(nodePath(one), { ...node, status: { conditions } } as typeof node);
}

async function reached(): Promise<void> {
  const path = namedPath("NodePool", name);
  const pool = await fixture.pool();
  const conditions = (pool.status?.conditions ?? []).map((each) =>
    each.type === "ReachedIgnitionEndpoint" ? { ...each, status: "True" as const } : each,
  );
  await fixture.api.update<NodePool>(`${path}/status`, { ...pool, status: { ...pool.status, conditions } });
}

beforeEach(async () => {
  [told, leads, ahead, setBy, cluster, progress] = [[], true, 0, 0, new MemoryCluster(), new RecordedProgress()];
  dead.clear();
  workersApi = createMemoryApi();
  fixture = new PoolFixture(createMemoryApi());
  await fixture.addObjects({
    ...makePool("workers", { replicas: 3 }),
    metadata: { name: "workers", namespace, annotations: { [MACHINES_ANNOTATION]: "command" } },
  });
  fixture.start();
  await vi.waitFor(
    async () => {
      expect((await fixture.secrets("user-data-")).length).toBe(1);
      expect((await fixture.pool()).status?.conditions?.length).toBeGreaterThan(0);
    },
    { timeout: 10_000 },
  );
  await fixture.close(false);
  commands = join(fixture.directory, ".commands.txt");
  failing = join(fixture.directory, ".failing");
  writeFileSync(commands, "");
  machines = controller();
}, 20_000);

afterEach(() => fixture.close());

describe("a pool's machines", () => {
  test("are removed only in the controller's own project, whatever a Worker says", async () => {
    await pass(2);
    const path = namedPath("Worker", { namespace, name: "workers-2" });
    const object = await workersApi.get<WorkerObject>(path);
    await workersApi.update(path, { ...object, spec: { ...object.spec!, shape: { project: "billing" } } });
    await spec({ replicas: 2 });
    await pass(3);
    expect(log().filter((line) => line.startsWith("remove"))).toEqual([]);
    expect(told.at(-1)).toContain('workers-2 is said to be in the project "billing"');
  });

  test("are as many as spec.replicas, up and down, and the pool says so", async () => {
    await pass();
    expect(log()).toEqual(["make workers-0", "make workers-1", "make workers-2"]);
    expect(await condition("Ready")).toBe("False WaitingForAvailableMachines: 0 of 3 workers are Ready");
    expect(await condition("AllNodesHealthy")).toMatch(/^False WaitingForNodeRef: 3 of 3 machines are not healthy\n/);
    await pass();
    expect([await replicas(), await condition("Ready"), await condition("AllMachinesReady")]).toEqual([
      ...[3, "True AsExpected: ", "True AsExpected: All is well"],
    ]);
    expect(cluster.node("workers-0")?.metadata?.labels).toEqual({ "hypershift.openshift.io/nodePool": "workers" });

    cluster.putPod("web", "workers-2");
    await spec({ replicas: 1 });
    await pass(2);
    expect(log().slice(3).sort()).toEqual(["remove workers-1", "remove workers-2"]);
    expect([cluster.has("web"), cluster.node("workers-2"), await replicas()]).toEqual([false, undefined, 1]);
    await spec({ replicas: 0 });
    await pass(2);
    expect(log().at(-1)).toBe("remove workers-0");
    expect(await condition("AllNodesHealthy")).toBe("False AsExpected: NodePool set to no replicas");
    await spec({ replicas: 1 });
    await pass(2);
    expect([log().at(-1), await replicas()]).toEqual(["make workers-3", 1]);
    expect(told).toEqual([]);
  });

  test("are made ten at a time, so that the pool says how far things are", async () => {
    await spec({ replicas: 12 });
    await pass();
    expect([log().length, await condition("Ready")]).toEqual([
      ...[10, "False WaitingForAvailableMachines: 0 of 12 workers are Ready; 2 to be made"],
    ]);
    await pass(2);
    expect([log().length, await replicas()]).toEqual([12, 12]);
  });

  test("are replaced by surge: the new node is Ready before an old one is drained", async () => {
    await spec({ replicas: 2, ...rolling(1, 0) });
    await pass(2);
    age("workers-0", "workers-1");
    dead.add("workers-2");
    await pass(3);
    // It is made, and as long as it is no node nothing leaves.
    expect(log().slice(2)).toEqual(["make workers-2"]);
    expect(await condition("UpdatingConfig")).toMatch(/^True AsExpected: Updating config in progress/);
    dead.clear();
    boot();
    await pass(6);
    expect(log().slice(3)).toEqual(["remove workers-1", "make workers-3", "remove workers-0"]);
    expect(await condition("UpdatingConfig")).toBe("False AsExpected: ");
    expect([await replicas(), await condition("Ready")]).toEqual([2, "True AsExpected: "]);
  });

  test("are not removed in the pass in which others are made: what is Ready by then decides", async () => {
    await spec(rolling(1, 1));
    await pass(2);
    age("workers-0", "workers-1", "workers-2");
    await machines.pass(await fixture.pool(), undefined);
    expect(log().slice(3)).toEqual(["make workers-3"]);
    for (const one of ["workers-0", "workers-1"]) makeUnready(one, 1);
    await machines.pass(await fixture.pool(), undefined);
    // Not the one that is Ready.
    expect(log().slice(4)).toEqual(["remove workers-1"]);
  });

  test("are replaced one by one without a surge", async () => {
    await spec({ replicas: 2, ...rolling(0, 1) });
    await pass(2);
    age("workers-0", "workers-1");
    await pass(6);
    expect(log().slice(2)).toEqual(["remove workers-1", "make workers-2", "remove workers-0", "make workers-3"]);
  });

  test.each([
    ["InPlace", { upgradeType: "InPlace" }],
    ["OnDelete", { upgradeType: "Replace", replace: { strategy: "OnDelete" } }],
  ])("are not replaced with %s, and the pool says so", async (rule, management) => {
    await spec({ management });
    await pass(2);
    age("workers-0");
    await pass(2);
    expect(log().length).toBe(3);
    expect(await condition("UpdatingConfig")).toMatch(
      `False ${rule}: 1 workers are behind, and ${rule} replaces no machine`,
    );
  });

  test("wait for pods that must not be evicted, and that stops nothing for good", async () => {
    await pass(2);
    cluster.putPod("web", "workers-2");
    cluster.held.add("web");
    await spec({ replicas: 2 });
    await pass(2);
    expect([log().length, await condition("MachineRemovalAllowed")]).toEqual([3, "True AsExpected: "]);
    expect(await condition("Ready")).toContain("disruption budget");
    cluster.held.clear();
    await pass(2);
    expect([log().at(-1), await replicas()]).toEqual(["remove workers-2", 2]);
  });
});

describe("what it does not understand", () => {
  test("a machine that cannot be made is tried again, later and later, and meanwhile nothing is removed", async () => {
    await spec({ replicas: 2, ...rolling(1, 0) });
    await pass(2);
    writeFileSync(`${failing}-make`, "");
    age("workers-0", "workers-1");
    await pass(3);
    expect(told).toEqual(["CreationFailed: a machine could not be made: sh failed for workers-2: no quota"]);
    expect(await condition("MachineRemovalAllowed")).toMatch(/^False CreationFailed: .*no quota$/);
    expect(await condition("AllMachinesReady")).toMatch(
      /^False CreationFailed: 1 of 3 machines are not ready\nMachine workers-2/,
    );
    rmSync(`${failing}-make`);
    await pass(2);
    // Not before its time.
    expect(log().length).toBe(2);
    ahead += MINUTE;
    await pass(2);
    expect(log().slice(2)).toEqual(["make workers-2", "remove workers-1"]);
  });

  test("a machine that cannot be made is tried again no later because the host's clock was set back", async () => {
    await pass(2);
    writeFileSync(`${failing}-make`, "");
    await spec({ replicas: 4 });
    await pass(2);
    rmSync(`${failing}-make`);
    setBy = -6 * 60 * MINUTE;
    ahead += MINUTE;
    await pass(2);
    expect(log().slice(3)).toEqual(["make workers-3"]);
  });

  test("a worker that could not be made is given up when fewer are wanted", async () => {
    await pass(2);
    writeFileSync(`${failing}-make`, "");
    await spec({ replicas: 4 });
    await pass(1);
    await spec({ replicas: 3 });
    await pass(2);
    // Its machine may be there though the command failed.
    expect([log().slice(3), await condition("Ready")]).toEqual([["remove workers-3"], "True AsExpected: "]);
  });

  test("of several workers that could not be made only those that are wanted are tried again", async () => {
    await pass(2);
    writeFileSync(`${failing}-make`, "");
    await spec({ replicas: 5 });
    await pass(1);
    rmSync(`${failing}-make`);
    await spec({ replicas: 4 });
    ahead += MINUTE;
    await pass(3);
    expect(log().slice(3)).toEqual(["remove workers-4", "make workers-3"]);
    expect([await replicas(), await condition("Ready")]).toEqual([4, "True AsExpected: "]);
  });

  test("a worker whose creation failed and whose node is Ready all the same is not removed while others are missing", async () => {
    await spec({ replicas: 2, ...rolling(1, 1) });
    await pass(2);
    writeFileSync(`${failing}-make`, "");
    await spec({ replicas: 3 });
    await pass(1);
    age("workers-2");
    await pass(2);
    expect(log().slice(2)).toEqual([]);
  });

  test("a machine that cannot be removed stops every removal, also by the next leader, until somebody says so", async () => {
    await pass(2);
    writeFileSync(`${failing}-remove`, "");
    await spec({ replicas: 2 });
    await pass();
    expect(told).toEqual(["RemovalFailed: sh failed for workers-2: no quota"]);
    expect(await condition("MachineRemovalAllowed")).toMatch(
      /^False RemovalFailed: sh failed for workers-2: no quota; nothing is/,
    );
    rmSync(`${failing}-remove`);
    await spec({ replicas: 1 });
    await pass(2);
    machines = controller();
    await pass(2);
    expect([log().length, cluster.node("workers-2")?.spec?.unschedulable]).toEqual([3, true]);
    expect(await condition("Ready")).toMatch(/^False RemovalFailed/);
    // More may be made all the same.
    await spec({ replicas: 4 });
    await pass(2);
    expect(log().slice(3)).toEqual(["make workers-3", "make workers-4"]);

    const [, since = ""] =
      / --overwrite drawbridge.dev\/machines-acknowledged=(\S+)$/.exec(await condition("MachineRemovalAllowed")) ?? [];
    await annotate(ACKNOWLEDGED_ANNOTATION, "2020-01-01T00:00:00Z");
    await pass();
    expect(log().length).toBe(5);
    await annotate(ACKNOWLEDGED_ANNOTATION, since);
    await pass(2);
    expect([log().slice(5), await condition("MachineRemovalAllowed")]).toEqual([
      ["remove workers-2"],
      "True AsExpected: ",
    ]);
  });

  test.each(["workers", "nodes"])("a list with far fewer %s than before makes and removes nothing", async (what) => {
    await pass(2);
    const [seenWorkers, seenNodes] = [workersApi, new Map(cluster.objects)];
    if (what === "workers") workersApi = createMemoryApi();
    else cluster.objects.clear();
    await spec({ replicas: 2 });
    // Also for one that has seen nothing else: the pool says how many there were.
    for (machines of [machines, controller()]) await machines.pass(await fixture.pool(), undefined);
    expect([log().length, await replicas()]).toEqual([3, 3]);
    expect(await condition("MachineRemovalAllowed")).toMatch(
      `False ListTooSmall: there are 0 ${what}, and there were 3`,
    );
    workersApi = seenWorkers;
    for (const [path, object] of seenNodes) cluster.objects.set(path, object);
    await pass(3);
    expect([log().at(-1), await condition("MachineRemovalAllowed")]).toEqual(["remove workers-2", "True AsExpected: "]);
  });

  test("what was acknowledged once acknowledges nothing that comes later, also while machines cannot be made", async () => {
    await pass(2);
    writeFileSync(`${failing}-remove`, "");
    await spec({ replicas: 2 });
    await pass();
    writeFileSync(`${failing}-make`, "");
    await spec({ replicas: 4 });
    await pass();
    const { conditions = [] } = (await fixture.pool()).status ?? {};
    const since = conditions.find(({ type }) => type === "MachineRemovalAllowed")?.lastTransitionTime ?? "";
    await annotate(ACKNOWLEDGED_ANNOTATION, since);
    await pass();
    expect(await condition("MachineRemovalAllowed")).toMatch(/^False CreationFailed/);
    rmSync(`${failing}-make`);
    workersApi = createMemoryApi();
    for (let left = 3; left > 0; left--) {
      ahead += MINUTE;
      await pass();
      expect([log().length, await condition("MachineRemovalAllowed")]).toEqual([
        3,
        expect.stringMatching(/^False ListTooSmall/),
      ]);
    }
  });

  test("an API that fails, and a lead that is lost, remove nothing", async () => {
    await pass(2);
    await spec({ replicas: 1 });
    cluster.before = (verb, path) => {
      if (verb === "list" && path.endsWith("/nodes")) throw new KubeApiError("away", { status: 0 });
    };
    await pass(2);
    expect([log().length, told]).toEqual([3, ["ReconcileError: away"]]);
    // Lost in the middle: the node is cordoned, and its machine stays.
    cluster.before = (verb, path) => {
      if (verb === "update" && path.includes("/nodes/")) leads = false;
    };
    await pass(2);
    expect(log().length).toBe(3);
    cluster.before = () => {};
    // It looks again by itself, whether or not it is told that it leads again.
    expect(await machines.pass(await fixture.pool(), undefined)).toBeGreaterThan(clock.date());
    leads = true;
    await pass(2);
    expect(log().slice(3).sort()).toEqual(["remove workers-1", "remove workers-2"]);
  });
});

describe("autoRepair", () => {
  beforeEach(async () => {
    await spec({ management: { upgradeType: "Replace", autoRepair: true } });
    await pass(2);
  });

  test("replaces a node that was not Ready for 16 minutes", async () => {
    expect(await condition("AutorepairEnabled")).toMatch(/^False ignitionNotReached/);
    await reached();
    makeUnready("workers-1", 15);
    await pass(2);
    expect([log().length, await condition("AutorepairEnabled")]).toEqual([3, "True AsExpected: "]);
    ahead += MINUTE;
    await pass(3);
    expect(log().slice(3)).toEqual(["remove workers-1", "make workers-3"]);
    expect([await replicas(), await condition("Ready")]).toEqual([3, "True AsExpected: "]);
  });

  test("repairs nothing when more than two are not Ready, and says so", async () => {
    await reached();
    for (const one of ["workers-0", "workers-1", "workers-2"]) makeUnready(one, 60);
    await pass(2);
    expect(log().length).toBe(3);
    expect(await condition("Ready")).toMatch(
      /^False TooManyUnhealthy: 0 of 3 .* with more than 2 nothing is repaired$/,
    );
    cluster.putNode("workers-0");
    await pass(3);
    expect(log().slice(3).sort()).toEqual(["make workers-3", "make workers-4", "remove workers-1", "remove workers-2"]);
  });

  test("removes no third node while two that are not healthy still wait for their drain", async () => {
    await reached();
    await spec({ replicas: 5 });
    await pass(2);
    for (const one of ["workers-0", "workers-1"]) {
      makeUnready(one, 60);
      cluster.putPod(`web-${one}`, one);
      cluster.held.add(`web-${one}`);
    }
    await pass(2);
    makeUnready("workers-2", 60);
    await pass(3);
    // In the place of one that leaves, by the surge.
    expect([log().slice(5), cluster.node("workers-2")?.spec?.unschedulable ?? false]).toEqual([
      ["make workers-5"],
      false,
    ]);
  });

  test("replaces a machine that does not become a node in 20 minutes", async () => {
    await reached();
    await spec({ replicas: 4 });
    dead.add("workers-3");
    await pass(2);
    ahead += 20 * MINUTE;
    await pass(3);
    expect(log().slice(3)).toEqual(["make workers-3", "remove workers-3", "make workers-4"]);
  });
});

describe("a pool that is not this controller's", () => {
  test("is looked at again when it is paused, and not when it is gone", async () => {
    await spec({ pausedUntil: "2031-01-01T01:00:00Z" });
    const pool = await fixture.pool();
    expect(await machines.pass(pool, undefined)).toBeGreaterThan(clock.date());
    expect([log(), told.length]).toEqual([[], 1]);
    ahead += 61 * MINUTE;
    await fixture.change("workers", (each) => ({ ...each, metadata: { ...each.metadata, finalizers: [] } }));
    await fixture.api.delete(namedPath("NodePool", name));
    expect([await machines.pass(pool, undefined), told.length]).toEqual(["wait", 1]);
  });

  test.each([
    ["is deleted", () => undefined],
    ["is paused", (pool: NodePool) => ({ ...pool, spec: { ...pool.spec, pausedUntil: "true" } })],
    ["is not annotated any more", (pool: NodePool) => ({ ...pool, metadata: { ...pool.metadata, annotations: {} } })],
  ])("loses no machine that is being drained when the pool %s", async (_, change) => {
    await pass(2);
    await spec({ replicas: 1 });
    const pool = await fixture.pool();
    let seen: NodePool | undefined = pool;
    cluster.before = (verb, path) => {
      if (verb === "update" && path.includes("/nodes/")) seen = change(pool);
    };
    expect(await machines.pass(pool, undefined, () => seen)).toBe("retry");
    expect([log().length, told, cluster.node("workers-2")?.spec?.unschedulable]).toEqual([3, [], true]);
    cluster.before = () => {};
    await pass(2);
    expect(log().slice(3).sort()).toEqual(["remove workers-1", "remove workers-2"]);
  });

  test("is left alone, and that is said once", async () => {
    await annotate(MACHINES_ANNOTATION, "magic");
    await pass(3);
    expect(told).toEqual([expect.stringMatching(/^LeftAlone: .*drawbridge.dev\/machines: magic is not known/)]);
    expect([log(), await replicas()]).toEqual([[], undefined]);
  });

  test("has nothing of this controller's in its status any more", async () => {
    await pass(2);
    await fixture.change("workers", (pool) => {
      const { [MACHINES_ANNOTATION]: _, ...annotations } = pool.metadata?.annotations ?? {};
      return { ...pool, metadata: { ...pool.metadata, annotations } };
    });
    await pass();
    const { conditions = [], replicas: count } = (await fixture.pool()).status ?? {};
    const types = conditions.map(({ type }) => type);
    expect([count, types.includes("ValidMachineConfig"), types.includes("Ready"), log().length]).toEqual([
      ...[undefined, true, false, 3],
    ]);
  });

  test("is one whose node belongs to somebody's machine", async () => {
    const metadata = {
      labels: { "hypershift.openshift.io/nodePool": "workers" },
      annotations: { "cluster.x-k8s.io/machine": "m-1" },
    };
    cluster.putNode("other", true, { metadata });
    await pass(2);
    expect([log(), told]).toEqual([
      [],
      ["LeftAlone: its machines are left alone: node other belongs to the machine m-1"],
    ]);
  });

  test("shares its conditions with the NodePool controller, and neither undoes the other's", async () => {
    await pass(2);
    const before = (await fixture.pool()).status?.conditions;
    fixture.start();
    await vi.waitFor(() => expect(fixture.passes.length).toBeGreaterThan(1), { timeout: 10_000 });
    await fixture.close(false);
    expect((await fixture.pool()).status?.conditions).toEqual(before);
    await pass();
    expect((await fixture.pool()).status?.conditions).toEqual(before);
  });
});
