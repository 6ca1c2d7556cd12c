import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { eventually } from "../../../base/testing/eventually.js";
import { ManualClock } from "../../../base/testing/manual-clock.js";
import { createAuthority, issueCertificate } from "../../../tunnel/pki/issue.js";
import { createKubeApi } from "../../kube/client.js";
import type { KubeApi } from "../../kube/port.js";
import { replyStatus } from "../../kube/testing/api-stub.js";
import { ApproverClusterStub, namespace } from "../testing/cluster-stub.js";
import { startTime } from "../testing/pools.js";
import {
  approvedRecord,
  inventoryOf,
  nodeOf,
  type RequestChange,
  signingRequest,
  worker,
} from "../testing/requests.js";
import { Approver, type ApproverOptions, approverMetrics } from "./approver.js";
import type { DecisionEntry } from "./decide.js";
import { configMapInventory, type Inventory } from "./inventory.js";
import { MemoryStore } from "./memory-store.js";
import { Networks } from "./names.js";
import { defaultPolicy } from "./request-context.js";
import { REQUESTS_PATH, type RequestKind, type SigningRequest } from "./signing-request.js";

const memoryName = "approver-memory";
let cluster: ApproverClusterStub;
let api: KubeApi;
let clock: ManualClock;
let inventory: Inventory | Error;
let log: DecisionEntry[];
let errors: string[];
let leading: boolean;
let approvers: Approver[];

beforeEach(async () => {
  cluster = await ApproverClusterStub.start();
  clock = new ManualClock(startTime + 120_000);
  api = createKubeApi({ server: cluster.url, credentials: async () => ({ headers: {}, tls: {} }) }, { clock, qps: -1 });
  inventory = inventoryOf([worker]);
  log = [];
  errors = [];
  leading = true;
  approvers = [];
});

afterEach(async () => {
  for (const approver of approvers) await approver.stop();
  api.close();
  await cluster.close();
});

function start(change: Partial<ApproverOptions> = {}): Approver {
  const approver = new Approver({
    api,
    clock,
    policy: defaultPolicy,
    inventory: async () => {
      if (inventory instanceof Error) throw inventory;
      return inventory;
    },
    store: new MemoryStore(api, { namespace, name: memoryName }),
    log: { write: (entry) => void log.push(entry) },
    leading: () => leading,
    dryRun: false,
    intervalMs: 10_000,
    onError: (sentence) => errors.push(sentence),
    ...change,
  });
  approvers.push(approver);
  approver.start();
  return approver;
}

test("goes on with the inventory that it knows while that cannot be read, and says so once", async () => {
  inventory = { ...inventoryOf([worker]), outdated: "the inventory is gone" };
  const approver = start();
  await file("client");
  await eventually(() => expect(cluster.answers).toEqual(["csr-client Approved"]));
  await file("client", { name: "csr-2", subject: [{ O: ["system:nodes"] }, { CN: ["system:node:w1"] }] });
  await eventually(() => expect(log.at(-1)).toMatchObject({ action: "leave", rule: "expected" }));
  expect([errors, approver.problem]).toEqual([["the inventory is gone"], "the inventory is gone"]);
  inventory = inventoryOf([worker]);
  approver.wake();
  await eventually(() => expect(approver.problem).toBeUndefined());
});

async function file(kind: RequestKind, change: RequestChange = {}): Promise<void> {
  cluster.requests.put(await signingRequest(kind, change));
}

const other = (name: string): RequestChange => ({
  name: `csr-${name}`,
  subject: [{ O: ["system:nodes"] }, { CN: [`system:node:${name}`] }],
});
const kept = () =>
  JSON.parse(
    cluster.configMaps.objects.has(memoryName)
      ? JSON.stringify((cluster.configMaps.objects.get(memoryName) as { data: object }).data)
      : "{}",
  );
const writes = () =>
  cluster.stub.requests
    .filter(({ method }) => method !== "GET")
    .map(({ method, path }) => `${method} ${path.split("/").slice(-2).join("/")}`);
const brief = () => log.map(({ by, action, rule, request }) => `${by} ${action} ${rule} ${request}`);

describe("an approver", () => {
  test("approves what is in order, with a reason, and leaves the rest pending, each reported once", async () => {
    await file("client");
    await file("client", other("stranger"));
    start();
    await eventually(() =>
      expect(brief()).toEqual(["leader leave expected csr-stranger", "leader approve all csr-client"]),
    );
    await eventually(() => expect(cluster.answers).toEqual(["csr-client Approved"]));
    const { status } = cluster.requests.objects.get("csr-client") as SigningRequest;
    expect(status?.conditions).toEqual([
      {
        type: "Approved",
        status: "True",
        reason: "DrawbridgeApproved",
        message: "drawbridge: w0 of clusters/workers is expected and asks for its first certificate",
        lastUpdateTime: "2031-01-01T00:02:00Z",
      },
    ]);
    for (let round = 0; round < 3; round++) {
      await eventually(() => expect(clock.waiting).toContain(10_000));
      clock.advance(10_000);
    }
    await eventually(() => expect(clock.waiting).toContain(10_000));
    expect(log).toHaveLength(2);
    expect(errors).toEqual([]);
  });

  test("approves several at a time, so that they do not wait for each other's answers", async () => {
    inventory = inventoryOf([worker, { ...worker, name: "w1" }]);
    await file("client");
    await file("client", other("w1"));
    let asked = 0;
    let release!: () => void;
    const both = new Promise<void>((resolve) => {
      release = resolve;
    });
    const get: KubeApi["get"] = async (path, options) => {
      if (path.startsWith(REQUESTS_PATH) && ++asked === 2) release();
      if (path.startsWith(REQUESTS_PATH)) await both;
      return api.get(path, options);
    };
    start({ api: { ...api, get } });
    await eventually(() => expect(cluster.answers.sort()).toEqual(["csr-client Approved", "csr-w1 Approved"]));
  });

  test("remembers before it approves", async () => {
    await file("client");
    start();
    await eventually(() => expect(cluster.answers).toHaveLength(1));
    expect(writes()).toEqual(["POST drawbridge/configmaps", "PUT csr-client/approval"]);
    expect(JSON.parse(kept().w0)).toEqual({
      pool: "clusters/workers",
      client: { request: "csr-client", at: startTime + 120_000 },
    });
  });

  test("follows a machine from its first request to its renewals", async () => {
    start();
    await file("client");
    await eventually(() => expect(cluster.answers).toEqual(["csr-client Approved"]));
    cluster.nodes.put(nodeOf("w0", "10.0.0.10"));
    await eventually(() => expect(JSON.parse(kept().w0)).toHaveProperty("joinedAt"));
    await file("serving");
    await eventually(() => expect(cluster.answers).toContain("csr-serving Approved"));
    await file("renewal");
    await eventually(() => expect(cluster.answers).toContain("csr-renewal Approved"));
    // Its entry is used up: the shared credential opens nothing any more, even after the node was deleted.
    cluster.nodes.remove("w0");
    await file("client", { name: "csr-replay" });
    await eventually(() => expect(brief()).toContain("leader leave not-joined csr-replay"));
  });

  test("forgets what has been neither a node nor expected for a week", async () => {
    const record = JSON.stringify({ pool: "clusters/workers", client: { request: "csr-x", at: 1 }, joinedAt: 1 });
    const data = { gone: record, w0: record, node: record };
    cluster.put(cluster.configMaps, { metadata: { name: memoryName, namespace }, data } as object);
    cluster.nodes.put(nodeOf("node"));
    start();
    await eventually(() => expect(JSON.parse(kept().gone)).toHaveProperty("goneSince", startTime + 120_000));
    await eventually(() => expect(clock.waiting).toContain(10_000));
    expect(writes()).toEqual([`PUT configmaps/${memoryName}`]);
    clock.advance(7 * 24 * 3_600_000 + 1);
    await eventually(() => expect(Object.keys(kept())).toEqual(["node", "w0"]));
    expect(kept()).toEqual({ node: record, w0: record });
  });

  test("goes on where another leader stopped", async () => {
    await file("client");
    const first = start();
    await eventually(() => expect(cluster.answers).toHaveLength(1));
    await first.stop();
    approvers = [];
    await file("client", { name: "csr-again" });
    start();
    await eventually(() => expect(brief()).toContain("leader leave single-client csr-again"));
  });

  test("finishes what was remembered and then interrupted", async () => {
    await file("client");
    let failing = true;
    cluster.requests.intercept = () => false;
    const original = api.update;
    const fragile: KubeApi = {
      ...api,
      update: (path, object, options) => {
        if (failing && path.endsWith("/approval")) return Promise.reject(new Error("the network is away"));
        return original(path, object, options);
      },
    };
    start({ api: fragile });
    await eventually(() => expect(errors).toContain("the network is away"));
    expect(cluster.answers).toEqual([]);
    failing = false;
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(10_000);
    await eventually(() => expect(cluster.answers).toEqual(["csr-client Approved"]));
  });

  test("denies a forgery, and says by which rule", async () => {
    await file("client", { subject: [{ O: ["system:masters"] }, { CN: ["system:node:w0"] }] });
    start();
    await eventually(() => expect(cluster.answers).toEqual(["csr-client Denied"]));
    expect(brief()).toEqual(["leader deny subject-group csr-client"]);
    const { status } = cluster.requests.objects.get("csr-client") as SigningRequest;
    expect(status?.conditions?.[0]).toMatchObject({
      reason: "DrawbridgeForgery",
      message: expect.stringContaining("rule subject-group"),
    });
    expect(kept()).toEqual({});
  });

  test("does not touch other signers' requests, whoever files them", async () => {
    await file("client", { name: "csr-foreign", spec: { signerName: "kubernetes.io/kube-apiserver-client" } });
    await file("client");
    start();
    await eventually(() => expect(cluster.answers).toEqual(["csr-client Approved"]));
    expect(brief()).toEqual(["leader approve all csr-client"]);
    expect(cluster.stub.calls.filter((call) => call.includes("csr-foreign"))).toEqual([]);
  });

  test("decides by the request as it is now", async () => {
    await file("client");
    let swapped = false;
    const another = await signingRequest("client", { spec: { username: "somebody" } });
    cluster.requests.intercept = ({ method, path }) => {
      // Between the list and the second look somebody puts another request in its place.
      if (method === "GET" && path.endsWith("/csr-client") && !swapped) {
        swapped = true;
        cluster.requests.put({ ...another, metadata: { ...another.metadata, uid: "another" } });
      }
      return false;
    };
    start();
    await eventually(() => expect(brief()).toEqual(["leader leave bootstrap-identity csr-client"]));
    expect(errors).toEqual(["csr-client was not decided: another one has its name by now"]);
    expect(cluster.answers).toEqual([]);
  });

  test("writes nothing once another replica leads, however far it was", async () => {
    await file("client");
    cluster.requests.intercept = ({ method, path }) => {
      if (method === "GET" && path.endsWith("/csr-client")) leading = false;
      return false;
    };
    start();
    await eventually(() => expect(errors).toEqual(["csr-client was not decided: another replica leads now"]));
    expect([writes(), log]).toEqual([["POST drawbridge/configmaps"], []]);
  });

  test("takes no second opinion on what somebody else just decided", async () => {
    await file("client");
    cluster.requests.intercept = ({ method, path }) => {
      const found = cluster.requests.objects.get("csr-client") as SigningRequest;
      if (method === "GET" && path.endsWith("/csr-client") && found.status === undefined) {
        cluster.requests.put({
          ...found,
          status: { conditions: [{ type: "Denied", status: "True" }] },
        } as SigningRequest);
      }
      return false;
    };
    start();
    await eventually(() => expect(errors).toEqual(["csr-client was not decided: somebody decided it meanwhile"]));
    expect(cluster.answers).toEqual(["csr-client Denied"]);
    expect(writes()).toEqual(["POST drawbridge/configmaps"]);
  });

  test("approves no other request that has the name of the planned one by now, unless it is remembered", async () => {
    inventory = inventoryOf([worker, { ...worker, name: "w1" }]);
    await file("client");
    const twin = await signingRequest("client", { ...other("w1"), name: "csr-client" });
    cluster.requests.intercept = ({ method, path }) => {
      const isAsked = method === "GET" && path.endsWith("/csr-client");
      const found = cluster.requests.objects.get("csr-client");
      if (isAsked && found?.metadata?.uid !== "twin") {
        cluster.requests.put({ ...twin, metadata: { ...twin.metadata, uid: "twin" } } as SigningRequest);
      }
      return false;
    };
    start();
    await eventually(() => expect(cluster.answers).toEqual(["csr-client Approved"]));
    expect(kept()).toHaveProperty("w1");
  });

  test("writes nothing into the cluster on a dry run, and logs what it would do", async () => {
    await file("client");
    await file("client", other("stranger"));
    start({ dryRun: true });
    await eventually(() =>
      expect(brief()).toEqual(["dry run approve all csr-client", "dry run leave expected csr-stranger"]),
    );
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(10_000);
    await eventually(() => expect(clock.waiting).toContain(10_000));
    expect(writes()).toEqual([]);
    expect(log).toHaveLength(2);
  });

  test("counts what it would have approved, on a dry run, too", async () => {
    await file("client");
    await file("client", { name: "csr-twin", createdAt: startTime + 61_000 });
    start({ dryRun: true });
    await eventually(() =>
      expect(brief()).toEqual(["dry run approve all csr-client", "dry run leave single-client csr-twin"]),
    );
  });

  test("does nothing while another replica leads", async () => {
    leading = false;
    await file("client");
    let asked = 0;
    const counting = () => {
      asked++;
      return leading;
    };
    const approver = start({ leading: counting });
    await eventually(() => expect(asked).toBeGreaterThan(0));
    approver.wake();
    // The second look begins when the first is over.
    await eventually(() => expect(asked).toBeGreaterThan(1));
    expect([log, cluster.answers]).toEqual([[], []]);
    leading = true;
    approver.wake();
    await eventually(() => expect(cluster.answers).toHaveLength(1));
  });

  test("approves nothing on the strength of a broken inventory", async () => {
    inventory = new Error("the inventory is broken");
    await file("client");
    start();
    await eventually(() => expect(errors).toEqual(["the inventory is broken"]));
    expect([log, writes()]).toEqual([[], []]);
    inventory = inventoryOf([worker]);
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(10_000);
    await eventually(() => expect(cluster.answers).toHaveLength(1));
  });

  test("approves nothing without a record of it, and nothing that it cannot remember", async () => {
    await file("client");
    const approver = start({
      log: {
        write: () => {
          throw new Error("the disk is full");
        },
      },
    });
    await eventually(() => expect(errors).toContain("the disk is full"));
    expect(cluster.answers).toEqual([]);
    await approver.stop();
    approvers = [];
    cluster.configMaps.intercept = ({ method }, response) => {
      if (method === "GET") return false;
      replyStatus(response, 403, "Forbidden", "no configmaps for you");
      return true;
    };
    errors = [];
    start();
    await eventually(() => expect(errors.join()).toContain("no configmaps for you"));
    expect(cluster.answers).toEqual([]);
  });

  test("reports its problem, and the number of pending requests", async () => {
    const metrics = approverMetrics(
      () => approver,
      () => leading,
    );
    const approver: Approver = start({ onDecision: metrics.decided });
    expect(approver.problem).toContain("not been listed yet");
    await eventually(() => expect(approver.problem).toBeUndefined());
    await file("client");
    await file("client", other("stranger"));
    await eventually(() => expect(brief()).toContain("leader leave expected csr-stranger"));
    await eventually(() => expect(approver.pendingCounts).toEqual({ pending: 1, limit: 101 }));
    const text = metrics.registry.text();
    expect(text).toContain('drawbridge_csr_decisions_total{action="approve",kind="client",rule="all"} 1\n');
    expect(text).toContain('drawbridge_csr_decisions_total{action="leave",kind="client",rule="expected"} 1\n');
    expect(text).toContain("drawbridge_csr_pending 1\n");
    expect(text).toContain("drawbridge_csr_pending_limit 101\n");
    expect(text).toContain("drawbridge_csr_leader 1\n");
    inventory = new Error("the inventory is broken");
    approver.wake();
    await eventually(() => expect(approver.problem).toBe("the inventory is broken"));
    leading = false;
    approver.wake();
    await eventually(() => expect(approver.problem).toBeUndefined());
  });

  test("reads the inventory from labelled ConfigMaps", async () => {
    const text = `pool: clusters/workers\nworkers: [{name: w0, notBefore: "${new Date(startTime).toISOString()}"}]`;
    const labels = { "drawbridge/inventory": "true" };
    const metadata = { name: "rack-1", namespace };
    cluster.put(cluster.configMaps, { metadata: { ...metadata, labels }, data: { "a.yaml": text } } as object);
    cluster.put(cluster.configMaps, {
      metadata: { ...metadata, name: "unlabelled" },
      data: { "a.yaml": text },
    } as object);
    await file("client");
    start({ inventory: configMapInventory(api, namespace) });
    await eventually(() => expect(cluster.answers).toHaveLength(1));
    cluster.put(cluster.configMaps, {
      metadata: { ...metadata, name: "rack-2", labels },
      data: { x: "nonsense" },
    } as object);
    await file("client", other("w1"));
    await eventually(() => expect(errors.at(-1)).toContain("ConfigMap drawbridge/rack-2 key x cannot be used"));
  });

  test("approves only the expected requests of a flood, in their order", async () => {
    const names = Array.from({ length: 20 }, (_, index) => `w${index}`);
    inventory = inventoryOf(names.map((name) => ({ ...worker, name })));
    const all = [...names, ...names.map((name) => `x${name}`)];
    const storm = await Promise.all(
      all.map((name, index) =>
        signingRequest("client", { ...other(name), createdAt: startTime + 60_000 + index * 1000 }),
      ),
    );
    // All are there before the first look: how many a watch brings at a time is the network's affair.
    for (const request of storm) cluster.requests.put(request);
    start({ policy: { ...defaultPolicy, poolRate: 15 } });
    // Requests that stay pending are reported during a pass, approvals are written at its end.
    await eventually(() => {
      expect(log.filter(({ action }) => action === "leave")).toHaveLength(25);
      expect(cluster.answers).toHaveLength(15);
    });
    expect(brief().filter((line) => line.includes("pool-rate"))).toHaveLength(5);
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(60_000);
    await eventually(() => expect(cluster.answers).toHaveLength(20));
    expect(cluster.answers.every((answer) => /^csr-w\d+ Approved$/.test(answer))).toBe(true);
    expect(Object.keys(kept())).toHaveLength(20);
    // The memory is written for many at once: for fifteen, and then for five or in the worst case for each of them.
    expect(writes().filter((write) => write.includes("configmaps")).length).toBeLessThan(12);
  });
});

describe("what serving certificates hold", () => {
  const lifeMs = 24 * 3_600_000;
  const policy = { ...defaultPolicy, nodeNetworks: new Networks(["10.0.0.0/24"]) };
  const held = (name: string) => JSON.parse(kept()[name] ?? "{}").held;

  beforeEach(() => {
    inventory = inventoryOf(["w0", "w1"].map((name) => ({ ...worker, name, ips: [], dnsNames: [], joined: true })));
    cluster.nodes.put(nodeOf("w0", "10.0.0.10"));
    cluster.nodes.put(nodeOf("w1", "10.0.0.11"));
    cluster.put(cluster.configMaps, {
      metadata: { name: memoryName, namespace },
      data: { w0: JSON.stringify(approvedRecord), w1: JSON.stringify(approvedRecord) },
    } as object);
  });

  const serving = (name: string, node: string, address: string): Promise<void> =>
    file("serving", {
      ...other(node),
      name,
      names: [
        { type: "dns", value: node },
        { type: "ip", value: address },
      ],
      spec: { username: `system:node:${node}` },
    });

  /** As the cluster's signer answers. */
  async function sign(request: string, node: string, address: string): Promise<void> {
    const now = new Date(clock.date());
    const authority = await createAuthority({ commonName: "signer", validForMs: 3 * lifeMs, now });
    const { certificatePem } = await issueCertificate(authority, {
      ...{ use: "server", commonName: `system:node:${node}`, organizations: ["system:nodes"] },
      ...{ dnsNames: [node], ipAddresses: [address], validForMs: lifeMs, now },
    });
    const found = cluster.requests.objects.get(request) as SigningRequest;
    const certificate = Buffer.from(certificatePem).toString("base64");
    cluster.requests.put({ ...found, status: { ...found.status, certificate } } as SigningRequest);
  }

  async function restart(): Promise<void> {
    for (const approver of approvers.splice(0)) await approver.stop();
    start({ policy });
  }

  const names = ["DNS:w1", "IP:10.0.0.11"];
  const until = startTime + 120_000 + lifeMs;

  test("is known from the approval on, and until when from the signer's answer", async () => {
    start({ policy });
    await serving("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(cluster.answers).toEqual(["csr-w1 Approved"]));
    expect(held("w1")).toEqual([{ names, request: "uid-csr-w1", until: 0 }]);
    await sign("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(held("w1")).toEqual([{ names, until }]));
  });

  test("is nobody else's after a restart, and is free when the certificate has ended", async () => {
    start({ policy });
    await serving("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(cluster.answers).toEqual(["csr-w1 Approved"]));
    await sign("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(held("w1")).toEqual([{ names, until }]));
    // The request is collected after an hour, and DHCP gives the address to another machine.
    cluster.requests.remove("csr-w1");
    cluster.nodes.put(nodeOf("w1", "10.0.0.12"));
    cluster.nodes.put(nodeOf("w0", "10.0.0.11"));
    await restart();
    await serving("csr-w0", "w0", "10.0.0.11");
    await eventually(() => expect(brief()).toContain("leader leave serving-owner csr-w0"));
    expect(log.at(-1)?.explanation).toBe(
      `10.0.0.11 belongs to w1, by its certificate until ${new Date(until).toISOString()}`,
    );
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(lifeMs);
    await eventually(() => expect(cluster.answers).toEqual(["csr-w0 Approved"]));
    expect(held("w1")).toEqual([]);
  });

  test("is not let go by another request of the same name that is denied", async () => {
    start({ policy });
    await serving("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(cluster.answers).toEqual(["csr-w1 Approved"]));
    cluster.requests.remove("csr-w1");
    const forged = await signingRequest("serving", { name: "csr-w1", spec: { username: "system:node:w1" } });
    cluster.requests.put({ ...forged, metadata: { ...forged.metadata, uid: "another" } });
    await eventually(() => expect(brief()).toContain("leader deny node-identity csr-w1"));
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(10_000);
    await eventually(() => expect(clock.waiting).toContain(10_000));
    expect(held("w1")).toEqual([{ names, request: "uid-csr-w1", until: 0 }]);
  });

  test("is free when its worker is removed", async () => {
    start({ policy });
    await serving("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(cluster.answers).toEqual(["csr-w1 Approved"]));
    cluster.nodes.remove("w1");
    cluster.nodes.put(nodeOf("w0", "10.0.0.11"));
    await serving("csr-w0", "w0", "10.0.0.11");
    await eventually(() => expect(brief()).toContain("leader leave serving-owner csr-w0"));
    inventory = inventoryOf([{ ...worker, ips: [], joined: true }]);
    await eventually(() => expect(clock.waiting).toContain(10_000));
    clock.advance(60_000);
    await eventually(() => expect(cluster.answers).toContain("csr-w0 Approved"));
  });

  test("counts, too, when somebody else approved it, but not when the request failed", async () => {
    start({ policy });
    cluster.nodes.put(nodeOf("cp", "10.0.0.1"));
    await serving("csr-cp", "cp", "10.0.0.1");
    await eventually(() => expect(brief()).toContain("leader leave known-node csr-cp"));
    await sign("csr-cp", "cp", "10.0.0.1");
    await eventually(() => expect(held("cp")).toEqual([{ names: ["DNS:cp", "IP:10.0.0.1"], until }]));
    await serving("csr-w1", "w1", "10.0.0.11");
    await eventually(() => expect(held("w1")).toHaveLength(1));
    const failed = cluster.requests.objects.get("csr-w1") as SigningRequest;
    const conditions = [
      { type: "Approved", status: "True" },
      { type: "Failed", status: "True" },
    ];
    cluster.requests.put({ ...failed, status: { conditions } } as SigningRequest);
    await eventually(() => expect(held("w1")).toEqual([]));
  });

  test("is given to the first of two that ask for it in one pass", async () => {
    cluster.nodes.put(nodeOf("w1", "10.0.0.20"));
    cluster.nodes.put(nodeOf("w0", "10.0.0.20"));
    inventory = inventoryOf(
      ["w0", "w1"].map((name) => ({
        ...worker,
        name,
        dnsNames: [],
        joined: true,
        ips: name === "w1" ? ["10.0.0.20"] : [],
      })),
    );
    await serving("csr-w0", "w0", "10.0.0.20");
    await serving("csr-w1", "w1", "10.0.0.20");
    start({ policy });
    await eventually(() => expect(cluster.answers).toEqual(["csr-w1 Approved"]));
    expect(brief()).toContain("leader leave serving-owner csr-w0");
  });

  test("is no address of the API server, whatever a node says", async () => {
    const kubernetes = { name: "kubernetes", namespace: "default" };
    cluster.services.put({ metadata: kubernetes, spec: { clusterIPs: ["10.0.0.10", "fd00::1"] } } as object);
    cluster.endpointSlices.put({ metadata: kubernetes, endpoints: [{ addresses: ["10.0.0.11"] }] } as object);
    start({ policy });
    await serving("csr-w0", "w0", "10.0.0.10");
    await serving("csr-w1", "w1", "10.0.0.11");
    await eventually(() =>
      expect(log.map(({ request, rule, explanation }) => [request, rule, explanation])).toEqual([
        ["csr-w0", "serving-ip-foreign", "10.0.0.10 is the API server's"],
        ["csr-w1", "serving-ip-foreign", "10.0.0.11 is the API server's"],
      ]),
    );
  });

  test("is not judged while the API server's addresses cannot be read", async () => {
    cluster.services.intercept = (_request, response) => {
      replyStatus(response, 403, "Forbidden", "no services for you");
      return true;
    };
    start({ policy });
    await serving("csr-w0", "w0", "10.0.0.10");
    await eventually(() => expect(errors.join()).toContain("no services for you"));
    expect([log, cluster.answers]).toEqual([[], []]);
  });
});
