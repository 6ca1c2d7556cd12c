/** An approver whose expected machines are Workers, and which remembers in their status what it approved. */
import { afterEach, beforeEach, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { createKubeApi } from "../../kube/client.js";
import type { KubeApi } from "../../kube/port.js";
import { ApproverClusterStub, namespace } from "../testing/cluster-stub.js";
import { startTime } from "../testing/pools.js";
import { nodeOf, pool, type RequestChange, signingRequest } from "../testing/requests.js";
import type { WorkerObject, WorkerSpec } from "../workers/resource.js";
import { Approver } from "./approver.js";
import type { DecisionEntry } from "./decide.js";
import { configMapInventory, withEntriesOf } from "./inventory.js";
import { WorkerObjects } from "./inventory-workers.js";
import { MemoryStore } from "./memory-store.js";
import { defaultPolicy } from "./request-context.js";

const memoryName = "approver-memory";
let cluster: ApproverClusterStub;
let api: KubeApi;
let clock: ManualClock;
let log: DecisionEntry[];
let errors: string[];
let approvers: Approver[];

beforeEach(async () => {
  cluster = await ApproverClusterStub.start();
  clock = new ManualClock(startTime + 120_000);
  api = createKubeApi({ server: cluster.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock, qps: -1 });
  log = [];
  errors = [];
  approvers = [];
});

afterEach(async () => {
  for (const approver of approvers) await approver.stop();
  api.close();
  await cluster.close();
});

const at = (ms: number) => new Date(startTime + ms).toISOString();

function putWorker(name: string, change: Partial<WorkerSpec> = {}): void {
  const before = cluster.workers.objects.get(name) as WorkerObject | undefined;
  const spec = { pool, notBefore: at(0), deadline: at(2 * 3_600_000), ips: ["10.0.0.10"], ...before?.spec, ...change };
  cluster.workers.put({ ...before, metadata: { ...before?.metadata, name, namespace }, spec } as WorkerObject);
}

const statusOf = (name: string) => (cluster.workers.objects.get(name) as WorkerObject | undefined)?.status;

function start(): Approver {
  const workers = new WorkerObjects(api, namespace);
  const approver = new Approver({
    ...{ api, clock, workers, policy: defaultPolicy, leading: () => true, dryRun: false, intervalMs: 10_000 },
    inventory: withEntriesOf(workers.expected, configMapInventory(api, namespace)),
    store: new MemoryStore(api, { namespace, name: memoryName }, workers),
    log: { write: (entry) => void log.push(entry) },
    onError: (sentence) => errors.push(sentence),
  });
  approvers.push(approver);
  approver.start();
  return approver;
}

async function file(name: string, change: RequestChange = {}): Promise<void> {
  const subject = [{ O: ["system:nodes"] }, { CN: ["system:node:w0"] }];
  cluster.requests.put(await signingRequest("client", { name, subject, createdAt: clock.date(), ...change }));
}

const ready = (name: string) => {
  const node = nodeOf(name, "10.0.0.10");
  return { ...node, status: { ...node.status, conditions: [{ type: "Ready", status: "True" }] } };
};
const brief = () => log.map(({ action, rule, request }) => `${action} ${rule} ${request}`);

test("approves the first certificate of a Worker, and writes into its status what it saw", async () => {
  putWorker("w0");
  await file("csr-1");
  start();
  await eventually(() => expect(cluster.answers).toEqual(["csr-1 Approved"]));
  expect(statusOf("w0")?.client).toEqual({ request: "csr-1", at: at(120_000) });
  cluster.nodes.put(ready("w0"));
  await eventually(() => expect(statusOf("w0")).toMatchObject({ joinedAt: at(120_000), readyAt: at(120_000) }));
  const types = (statusOf("w0")?.conditions ?? []) as readonly { readonly type: string }[];
  expect(types.map(({ type }) => type)).toEqual(["Approved", "Joined"]);
  expect([...cluster.configMaps.objects.keys()]).toEqual([]);
});

test("remembers what it approved when another approver takes over, and approves nothing twice", async () => {
  putWorker("w0");
  await file("csr-1");
  await start().stop();
  start();
  await eventually(() => expect(cluster.answers).toEqual(["csr-1 Approved"]));
  await approvers[1]?.stop();
  await file("csr-2");
  start();
  await eventually(() => expect(brief()).toContain("leave single-client csr-2"));
});

test("goes on when somebody edits the Worker, and stops when somebody else wrote its status", async () => {
  putWorker("w0");
  start();
  await eventually(() => expect(cluster.workers.openWatches).toBe(1));
  putWorker("w0", { made: true });
  await file("csr-1");
  await eventually(() => expect(cluster.answers).toEqual(["csr-1 Approved"]));
  const edited = cluster.workers.objects.get("w0") as WorkerObject;
  expect(edited.spec?.made).toBe(true);
  const other = { client: { request: "csr-other", at: at(119_000) } };
  cluster.workers.put({ ...edited, status: other } as WorkerObject);
  cluster.nodes.put(ready("w0"));
  await eventually(() => expect(errors.join()).toContain("409"));
  expect(statusOf("w0")?.client).toEqual(other.client);
});

test("moves what the ConfigMap has about a Worker into its status, and keeps the rest there", async () => {
  putWorker("w0");
  const record = { pool, client: { request: "csr-0", at: startTime + 60_000 } };
  const data = { w0: JSON.stringify(record), other: JSON.stringify({ pool, joinedAt: startTime }) };
  cluster.configMaps.put({ metadata: { name: memoryName, namespace }, data } as object);
  start();
  await eventually(() => expect(statusOf("w0")?.client).toEqual({ request: "csr-0", at: at(60_000) }));
  await eventually(() => {
    const { data: left } = cluster.configMaps.objects.get(memoryName) as { data?: object };
    expect(Object.keys(left ?? {})).toEqual(["other"]);
  });
});

test("approves one new first certificate of a machine that was installed again under its name", async () => {
  putWorker("w0");
  await file("csr-1");
  start();
  await eventually(() => expect(cluster.answers).toEqual(["csr-1 Approved"]));
  cluster.nodes.put(ready("w0"));
  await eventually(() => expect(statusOf("w0")?.joinedAt).toBeDefined());
  cluster.nodes.remove("w0");
  clock.advance(60_000);
  await file("csr-old");
  await eventually(() => expect(brief()).toContain("leave not-joined csr-old"));
  clock.advance(1_000);
  const moment = new Date(clock.date()).toISOString();
  await file("csr-same-second");
  putWorker("w0", { reinstalled: moment, notBefore: moment });
  await eventually(() => expect(statusOf("w0")?.joinedAt).toBeUndefined());
  // The old machine's requests are the first that could take the new certificate.
  await eventually(() => expect(brief()).toContain("leave window csr-old"));
  await eventually(() => expect(brief()).toContain("leave window csr-same-second"));
  clock.advance(1_000);
  await file("csr-new");
  await eventually(() => expect(cluster.answers).toEqual(["csr-1 Approved", "csr-new Approved"]));
  await file("csr-after");
  await eventually(() => expect(brief()).toContain("leave single-client csr-after"));
  expect(log.find(({ rule }) => rule === "window")?.explanation).toBe(
    `it was filed at ${at(180_000)}, and w0 was installed again at ${moment}: only requests after that are the new machine's`,
  );
});

test("expects no Worker that is gone, and none that cannot be read, and the others all the same", async () => {
  putWorker("w0");
  putWorker("w1", { removed: at(60_000) });
  putWorker("w2", { ips: ["somewhere"] });
  for (const name of ["w0", "w1", "w2"]) {
    await file(`csr-${name}`, { subject: [{ O: ["system:nodes"] }, { CN: [`system:node:${name}`] }] });
  }
  start();
  await eventually(() => expect(cluster.answers).toEqual(["csr-w0 Approved"]));
  await eventually(() => expect(brief()).toContain("leave expected csr-w2"));
  expect(brief()).toContain("leave expected csr-w1");
  expect(errors).toEqual([
    expect.stringContaining('Worker drawbridge/w2 cannot be used: "somewhere" is not an address'),
  ]);
});

test("records which configuration the Ignition server sent a worker", async () => {
  putWorker("w0");
  const claims = `pool: ${pool}\nclaims: [{worker: w0, at: "${at(30_000)}", hash: 0abc1234}]\n`;
  const labels = { "drawbridge/inventory": "true" };
  cluster.configMaps.put({ metadata: { name: "claims", namespace, labels }, data: { claims } } as object);
  start();
  await eventually(() => expect(statusOf("w0")?.served).toEqual({ hash: "0abc1234", at: at(30_000) }));
});

test("takes addresses in the networks of a Worker for its own", async () => {
  putWorker("w0", { ips: [], networks: ["10.0.0.0/16"], joined: true });
  cluster.nodes.put(ready("w0"));
  cluster.requests.put(await signingRequest("serving", { name: "csr-serving" }));
  start();
  await eventually(() => expect(cluster.answers).toEqual(["csr-serving Approved"]));
});
