import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { collectionPath, namedPath } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { makePool, namespace, PoolFixture } from "../controller/testing/fixture.js";
import { defaultPolicy } from "../csr/request-context.js";
import { MACHINES_ANNOTATION, type NodePool } from "../pool/node-pool.js";
import { createMemoryApi } from "../testing/memory-api.js";
import { MachineController } from "./controller.js";

let fixture: PoolFixture;
let api: KubeApi;
let told: string[];
let passes: string[];
let controller: MachineController;

beforeEach(() => {
  api = createMemoryApi();
  fixture = new PoolFixture(api);
  [told, passes] = [[], []];
});
afterEach(async () => {
  await controller.stop();
  await fixture.close();
});

const unused = () => {
  throw new Error("machines of such a pool are not touched");
};

function start(cluster = ""): void {
  controller = new MachineController({
    ...{ clusters: { pools: api, nodes: api }, clock: fixture.clock, provider: "command", namespace, cluster },
    ...{ machines: unused, reader: unused, withPool: unused, joinWithinMs: 0, intervalMs: 1000, leading: () => true },
    approval: { by: "anybody", namespace, policy: defaultPolicy },
    rules: { force: false, deleteEmptyDirData: false },
    signal: new AbortController().signal,
    progress: unused,
    tell: (pool, { message }) => void told.push(`${pool.metadata?.name}: ${message}`),
    onPass: (key) => void passes.push(key),
  });
  controller.start();
}

async function add(name: string, clusterName: string, value?: string): Promise<void> {
  const annotations = value === undefined ? {} : { [MACHINES_ANNOTATION]: value };
  const metadata = { name, namespace, annotations };
  await api.create<NodePool>(collectionPath("NodePool", namespace), { ...makePool(name, { clusterName }), metadata });
}

const passed = (count: number) => vi.waitFor(() => expect(passes.length).toBe(count), { timeout: 10_000 });

test("pools of several clusters are left alone until --cluster says whose nodes these are", async () => {
  await add("a", "one", "command");
  await add("b", "two", "command");
  await add("c", "three");
  start();
  await passed(3);
  expect(told.sort()).toEqual(
    ["a", "b"].map(
      (name) =>
        `${name}: its machines are left alone: there are pools of the clusters one, two: --cluster says whose nodes these are`,
    ),
  );
  expect(controller.count).toBe(2);
});

test("with --cluster the pools of others are left alone", async () => {
  await add("b", "two", "command");
  start("one");
  await passed(1);
  expect(told).toEqual(["b: its machines are left alone: it is a pool of cluster two"]);
});

test("a change of the pool is looked at, and a change of its status is not", async () => {
  await add("a", "one");
  start();
  await passed(1);
  const path = namedPath("NodePool", { namespace, name: "a" });
  await api.update<NodePool>(`${path}/status`, { ...(await fixture.pool("a")), status: { replicas: 1 } });
  await fixture.change("a", (pool) => ({ ...pool, spec: { ...pool.spec, replicas: 1 } }));
  await passed(2);
  // Had the status been a reason, this would be the fourth.
  await fixture.change("a", (pool) => ({ ...pool, spec: { ...pool.spec, replicas: 2 } }));
  await passed(3);
});
