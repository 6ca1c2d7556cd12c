import { describe, expect, test } from "vitest";
import { pemText } from "../../../tunnel/pki/pem.js";
import { startTime } from "../testing/pools.js";
import {
  approvedRecord,
  clusterState,
  inventoryOf,
  nodeOf,
  pool,
  type RequestChange,
  signingRequest,
  worker,
} from "../testing/requests.js";
import { countRecentPending, decide } from "./decide.js";
import type { NodeRecord } from "./memory.js";
import { Networks } from "./names.js";
import { type ClusterState, defaultPolicy } from "./request-context.js";
import type { RequestKind } from "./signing-request.js";

const minute = 60_000;
const policy = (change: Partial<typeof defaultPolicy>): Partial<ClusterState> => ({
  policy: { ...defaultPolicy, ...change },
});
const remembering = (change: Partial<NodeRecord>): Partial<ClusterState> => ({
  memory: new Map([["w0", { pool, ...change }]]),
});
const reinstalledAt = (reinstalled: number): Partial<ClusterState> => ({
  inventory: inventoryOf([{ ...worker, reinstalled }]),
});
const named = (commonName: string): RequestChange => ({ subject: [{ O: ["system:nodes"] }, { CN: [commonName] }] });
const names = (...values: readonly string[]): RequestChange => ({
  names: values.map((value) => {
    const [type, ...rest] = value.split(":");
    return { type: type as "dns", value: rest.join(":") };
  }),
});

async function decision(kind: RequestKind, request: RequestChange = {}, state: Partial<ClusterState> = {}) {
  return decide(await signingRequest(kind, request), clusterState(kind, state));
}

async function verdict(kind: RequestKind, request: RequestChange = {}, state: Partial<ClusterState> = {}) {
  const made = await decision(kind, request, state);
  return made && `${made.action} ${made.rule}`;
}

describe("a request in order", () => {
  test.each(["client", "renewal", "serving"] as const)("is approved (%s), and every rule says so", async (kind) => {
    const made = await decision(kind);
    expect(made).toMatchObject({ action: "approve", rule: "all", node: "w0", pool, kind, request: `csr-${kind}` });
    expect(made?.findings.filter(({ objection }) => objection !== undefined)).toEqual([]);
    expect(made?.findings.length).toBeGreaterThan(14);
  });

  test("leaves behind what must be remembered", async () => {
    const at = startTime + 120_000;
    expect((await decision("client"))?.remember).toEqual({ pool, client: { request: "csr-client", at } });
    expect((await decision("renewal"))?.remember).toEqual({
      ...approvedRecord,
      renewal: { request: "csr-renewal", at },
    });
    expect((await decision("serving"))?.remember).toEqual({
      ...approvedRecord,
      serving: { request: "csr-serving", at, names: ["DNS:w0", "IP:10.0.0.10"] },
      held: [{ names: ["DNS:w0", "IP:10.0.0.10"], request: "uid-csr-serving", until: 0 }],
    });
  });

  test("was approved when it was approved first, however often it is decided", async () => {
    const earlier = remembering({ client: { request: "csr-client", at: startTime } });
    const rate = policy({ poolRate: 1 });
    expect(await decision("client", {}, { ...earlier, ...rate })).toMatchObject({
      action: "approve",
      remember: { client: { at: startTime } },
    });
  });

  test.each(["RSA-2048", "P-256"] as const)(
    "may ask for key encipherment, as kubelets up to 1.26 do, for a %s key",
    async (key) => {
      const usages = ["digital signature", "key encipherment"];
      expect(await verdict("client", { key, spec: { usages: [...usages, "client auth"] } })).toBe("approve all");
      expect(await verdict("client", { key })).toBe("approve all");
      expect(await verdict("client", { key, spec: { usages: [...usages, "server auth"] } })).toBe("leave usages");
      expect(await verdict("client", { key, spec: { usages: ["key encipherment", "client auth"] } })).toBe(
        "leave usages",
      );
      expect(await verdict("client", { key, spec: { usages: [...usages, ...usages, "client auth"] } })).toBe(
        "leave usages",
      );
    },
  );
});

describe("what is not ours to decide", () => {
  test.each(["kubernetes.io/kube-apiserver-client", "kubernetes.io/legacy-unknown", "example.com/x", ""])(
    "signer %j",
    async (signerName) => expect(await verdict("client", { spec: { signerName } })).toBeUndefined(),
  );

  test.each([
    { conditions: [{ type: "Approved", status: "True" }] },
    { conditions: [{ type: "Denied", status: "True" }] },
    { conditions: [{ type: "Failed", status: "True" }] },
    { certificate: "x" },
  ])("status %j", async (status) => expect(await verdict("client", { status })).toBeUndefined());
});

describe.each(["client", "renewal", "serving"] as const)("the shape of a %s request", (kind) => {
  test.each<[string, RequestChange]>([
    ["leave request-readable", { pem: "hello" }],
    ["leave request-key", { key: "RSA-1024" }],
    ["leave subject-name", { subject: [{ O: ["system:nodes"] }] }],
    [
      "leave subject-name",
      { subject: [{ O: ["system:nodes"] }, { CN: ["system:node:w0"] }, { CN: ["system:node:w0"] }] },
    ],
    ["leave subject-group", { subject: [{ CN: ["system:node:w0"] }] }],
    [
      "leave subject-group",
      { subject: [{ O: ["system:nodes"] }, { O: ["system:nodes"] }, { CN: ["system:node:w0"] }] },
    ],
    [
      "deny subject-group",
      { subject: [{ O: ["system:nodes"] }, { O: ["system:masters"] }, { CN: ["system:node:w0"] }] },
    ],
    ["deny subject-group", { subject: [{ O: ["system:masters"] }, { CN: ["system:node:w0"] }] }],
    ["leave subject-parts", { subject: [{ O: ["system:nodes"] }, { OU: ["x"] }, { CN: ["system:node:w0"] }] }],
    ["leave extensions", { asksForCa: true }],
    ["leave usages", { spec: { usages: ["digital signature"] } }],
    ["leave usages", { spec: { usages: ["digital signature", "client auth", "server auth"] } }],
    ["leave usages", { spec: { usages: ["digital signature", kind === "serving" ? "client auth" : "server auth"] } }],
    ["leave usages", { spec: { usages: [] } }],
  ])("%s", async (expected, change) => {
    const fitting =
      kind === "serving" && change.pem === undefined ? { ...names("dns:w0", "ip:10.0.0.10"), ...change } : change;
    expect(await verdict(kind, fitting)).toBe(expected);
  });

  test("deny request-signature, when the request was altered", async () => {
    const request = await signingRequest(kind);
    const pem = Buffer.from(request.spec!.request!, "base64").toString();
    const der = Buffer.from(pem.replace(/-----.*-----/g, ""), "base64");
    // The last byte belongs to the signature.
    der[der.length - 1]! ^= 1;
    expect(await verdict(kind, { pem: pemText("CERTIFICATE REQUEST", der) })).toBe("deny request-signature");
  });

  test("leave brake, in a flood", async () => {
    expect(await verdict(kind, {}, { recentPending: 101 })).toBe("approve all");
    expect(await verdict(kind, {}, { recentPending: 102 })).toBe("leave brake");
    const forged = { subject: [{ O: ["system:masters"] }, { CN: ["system:node:w0"] }] };
    expect(await verdict(kind, forged, { recentPending: 102 })).toBe("leave brake");
    const nodes = new Map(Array.from({ length: 9 }, (_, index) => [`n${index}`, nodeOf(`n${index}`)]));
    const withW0 = kind === "client" ? nodes : nodes.set("w0", nodeOf("w0", "10.0.0.10"));
    expect(await verdict(kind, {}, { recentPending: 100 + withW0.size, nodes: withW0 })).toBe("approve all");
  });
});

describe("the name of a first request", () => {
  test.each([
    "w0",
    "system:node:",
    "system:nodes:w0",
    "system:node:*",
    "system:node:W0",
    "system:node:a..b",
    "system:admin",
    "system:node:a/b",
  ])("cannot be %j", async (name) => expect(await verdict("client", named(name))).toBe("leave subject-name"));

  test.each([
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "x.y.svc",
    "x.svc.cluster.local",
    "api-int",
  ])("cannot be %j, whatever the inventory says", async (name) => {
    const inventory = inventoryOf([{ ...worker, name }]);
    expect(await verdict("client", named(`system:node:${name}`), { inventory })).toBe("leave name-reserved");
  });

  test("cannot be one that the operator keeps for the control plane", async () => {
    expect(await verdict("client", {}, policy({ reservedNames: ["W0."] }))).toBe("leave name-reserved");
  });
});

describe("a first request", () => {
  test.each<[string, RequestChange, Partial<ClusterState>]>([
    ["leave client-names", names("dns:w0"), {}],
    ["leave client-names", names("ip:10.0.0.10"), {}],
    ["leave client-names", names("email:a@b"), {}],
    ["leave client-names", names("url:spiffe://x"), {}],
    ["leave bootstrap-identity", { spec: { username: "system:serviceaccount:kube-system:default" } }, {}],
    ["leave bootstrap-identity", { spec: { groups: [...defaultPolicy.bootstrapGroups, "system:masters"] } }, {}],
    ["leave bootstrap-identity", { spec: { groups: defaultPolicy.bootstrapGroups.slice(1) } }, {}],
    ["leave bootstrap-identity", {}, policy({ bootstrapUser: "somebody" })],
    ["leave expected", named("system:node:w1"), {}],
    ["leave expected", {}, { inventory: inventoryOf([]) }],
    ["leave window", { createdAt: worker.notBefore - 10_000 }, {}],
    ["approve all", { createdAt: worker.notBefore - 9_000 }, {}],
    ["approve all", { createdAt: worker.deadline - 1_000 }, {}],
    ["leave window", { createdAt: worker.deadline }, {}],
    ["leave window", { createdAt: startTime + minute }, reinstalledAt(startTime + minute)],
    ["leave window", { createdAt: startTime + minute }, reinstalledAt(startTime + minute + 1_000)],
    ["approve all", { createdAt: startTime + minute }, reinstalledAt(startTime + minute - 1_000)],
    ["leave not-joined", {}, remembering({ joinedAt: startTime })],
    ["leave not-joined", {}, { inventory: inventoryOf([{ ...worker, joined: true }]) }],
    ["leave node-absent", {}, { nodes: new Map([["w0", nodeOf("w0")]]) }],
  ])("%s", async (expected, request, state) => expect(await verdict("client", request, state)).toBe(expected));

  test("is approved once in a quarter of an hour, but the same one again", async () => {
    const at = startTime + minute;
    const earlier = remembering({ client: { request: "csr-earlier", at } });
    expect(await verdict("client", {}, { ...earlier, now: at + 15 * minute })).toBe("leave single-client");
    expect(await verdict("client", {}, { ...earlier, now: at + 15 * minute + 1 })).toBe("approve all");
    expect(await verdict("client", {}, remembering({ client: { request: "csr-client", at } }))).toBe("approve all");
  });

  test("needs a claim only where that is asked for, and one that is its own and new enough", async () => {
    const with_ = (...claims: readonly { pool: string; worker?: string; at: number }[]) => ({
      ...policy({ needsClaim: true }),
      inventory: inventoryOf([worker], { claims }),
    });
    const at = startTime + minute;
    expect(await verdict("client", {}, with_())).toBe("leave claim");
    expect(await verdict("client", {}, with_({ pool, at }))).toBe("approve all");
    expect(await verdict("client", {}, with_({ pool, at, worker: "w0" }))).toBe("approve all");
    expect(await verdict("client", {}, with_({ pool, at, worker: "w1" }))).toBe("leave claim");
    expect(await verdict("client", {}, with_({ pool: "other/pool", at }))).toBe("leave claim");
    expect(await verdict("client", {}, with_({ pool, at: startTime - minute }))).toBe("leave claim");
    expect(await verdict("client", {}, with_({ pool, at: startTime + 60 * minute }))).toBe("leave claim");
  });

  test("is not approved by the worker's own fetch if it was filed before that", async () => {
    const filed = startTime + minute;
    const fetched = (at: number) => ({
      ...policy({ needsClaim: true }),
      now: filed + 10 * minute,
      inventory: inventoryOf([worker], { claims: [{ pool, worker: "w0", at }] }),
    });
    const request = { createdAt: filed };
    expect(await verdict("client", request, fetched(filed - minute))).toBe("approve all");
    expect(await verdict("client", request, fetched(filed + minute))).toBe("leave claim");
  });

  test("needs room in its pool: replicas and surge, nodes and those on their way", async () => {
    const others = ["w1", "w2"].map((name) => ({ ...worker, name }));
    const inventory = (replicas: number) =>
      inventoryOf([worker, ...others], { pools: new Map([[pool, { replicas, workers: 3 }]]) });
    const memory = new Map([
      ["w1", approvedRecord],
      ["w2", approvedRecord],
    ]);
    const nodes = new Map([["w1", nodeOf("w1")]]);
    expect(await verdict("client", {}, { inventory: inventory(2), memory, nodes })).toBe("leave pool-size");
    expect(await verdict("client", {}, { inventory: inventory(3), memory, nodes })).toBe("approve all");
    expect(await verdict("client", {}, { inventory: inventory(2), memory, nodes, ...policy({ surge: 1 }) })).toBe(
      "approve all",
    );
    // A worker that was approved and never joined frees its place.
    const gone = inventoryOf([worker, others[0]!], { pools: new Map([[pool, { replicas: 2, workers: 2 }]]) });
    expect(await verdict("client", {}, { inventory: gone, memory, nodes })).toBe("approve all");
    // Nodes that were there before count as well.
    const adopted = inventoryOf([worker, { ...others[0]!, joined: true }], {
      pools: new Map([[pool, { replicas: 1, workers: 2 }]]),
    });
    expect(await verdict("client", {}, { inventory: adopted })).toBe("leave pool-size");
  });

  test("waits when its pool got many approvals within a minute", async () => {
    const recent = (at: number) =>
      new Map(Array.from({ length: 3 }, (_, index) => [`x${index}`, { pool, client: { request: "r", at } }]));
    const now = startTime + 5 * minute;
    expect(await verdict("client", {}, { now, memory: recent(now - minute + 1), ...policy({ poolRate: 3 }) })).toBe(
      "leave pool-rate",
    );
    expect(await verdict("client", {}, { now, memory: recent(now - minute), ...policy({ poolRate: 3 }) })).toBe(
      "approve all",
    );
    expect(await verdict("client", {}, { now, memory: recent(now - minute + 1), ...policy({ poolRate: 4 }) })).toBe(
      "approve all",
    );
  });
});

describe.each(["renewal", "serving"] as const)("a %s request of a node", (kind) => {
  test.each<[string, RequestChange, Partial<ClusterState>]>([
    ["leave node-identity", { spec: { groups: ["system:authenticated"] } }, {}],
    ["leave node-identity", { spec: { groups: ["system:nodes"] } }, {}],
    ["leave known-node", {}, { memory: new Map() }],
    ["leave known-node", {}, remembering({})],
    ["approve all", {}, { memory: new Map(), inventory: inventoryOf([{ ...worker, joined: true }]) }],
    ["approve all", {}, remembering({ joinedAt: startTime })],
    ["leave node-present", {}, { nodes: new Map() }],
    ["leave pool-rate", {}, policy({ poolRate: 0 })],
  ])("%s", async (expected, request, state) => expect(await verdict(kind, request, state)).toBe(expected));

  test("is a forgery when it is for another node", async () => {
    const forged = await verdict(kind, { spec: { username: "system:node:w1" } });
    expect(forged).toBe("deny node-identity");
    const mild = { ...clusterState(kind).policy, deniesForgery: false };
    expect(await verdict(kind, { spec: { username: "system:node:w1" } }, { policy: mild })).toBe("leave node-identity");
  });

  test("is paced: one certificate of a kind in a minute", async () => {
    const now = startTime + 10 * minute;
    const earlier = (request: string, at: number) => ({
      now,
      ...remembering({ ...approvedRecord, [kind]: { request, at, names: ["DNS:w0", "IP:10.0.0.10"] } }),
    });
    expect(await verdict(kind, {}, earlier("csr-earlier", now - minute + 1))).toBe("leave node-pace");
    expect(await verdict(kind, {}, earlier("csr-earlier", now - minute))).toBe("approve all");
    expect(await verdict(kind, {}, earlier(`csr-${kind}`, now - 1))).toBe("approve all");
  });
});

describe("a renewed client certificate", () => {
  test("is for no names", async () => expect(await verdict("renewal", names("dns:w0"))).toBe("leave client-names"));

  test("does not need the worker's entry any more", async () => {
    expect(await verdict("renewal", {}, { inventory: inventoryOf([]) })).toBe("approve all");
  });
});

describe("a serving certificate", () => {
  const noIps = inventoryOf([{ ...worker, ips: [] }]);
  const nodeNetworks = new Networks(["10.0.0.0/24", "fd00::/64"]);

  test.each<[string, RequestChange, Partial<ClusterState>]>([
    ["leave serving-names", { names: [] }, {}],
    ["leave serving-names", names("dns:w0", "email:a@b"), {}],
    ["leave serving-names", names("dns:w0", "url:spiffe://x"), {}],
    ["approve all", names("dns:w0"), {}],
    ["approve all", names("dns:w0.example", "dns:w0"), {}],
    ["leave serving-dns", names("dns:w0", "dns:w1"), {}],
    ["leave serving-dns", names("dns:*"), {}],
    ["leave serving-dns", names("dns:"), {}],
    ["leave name-reserved", names("dns:w0", "dns:kubernetes.default.svc"), {}],
    ["approve all", names("ip:10.0.0.10"), {}],
    ["leave serving-ips", names("ip:10.0.0.10", "ip:10.0.0.11"), {}],
    [
      "leave serving-ip-foreign",
      names("ip:127.0.0.1"),
      { inventory: inventoryOf([{ ...worker, ips: ["127.0.0.1"] }]) },
    ],
    [
      "leave serving-ip-foreign",
      names("ip:169.254.1.1"),
      { inventory: inventoryOf([{ ...worker, ips: ["169.254.1.1"] }]) },
    ],
    ["leave serving-ip-foreign", names("ip:fe80::1"), { inventory: inventoryOf([{ ...worker, ips: ["fe80::1"] }]) }],
    [
      "leave serving-ip-foreign",
      names("ip:10.96.0.1"),
      { inventory: inventoryOf([{ ...worker, ips: ["10.96.0.1"] }]) },
    ],
    ["leave serving-ips", {}, { inventory: noIps }],
    ["approve all", {}, { inventory: noIps, ...policy({ nodeNetworks }) }],
    ["leave serving-ips", {}, { inventory: noIps, ...policy({ nodeNetworks: new Networks(["10.1.0.0/16"]) }) }],
    ["leave serving-ips", names("ip:10.0.0.12"), { inventory: noIps, ...policy({ nodeNetworks }) }],
    [
      "leave serving-ips",
      {},
      { inventory: noIps, nodes: new Map([["w0", nodeOf("w0", "10.0.0.10", "fd00::9")]]), ...policy({ nodeNetworks }) },
    ],
    [
      "approve all",
      names("ip:10.0.0.10", "ip:fd00::9"),
      {
        inventory: noIps,
        nodes: new Map([["w0", nodeOf("w0", "10.0.0.10", "fd00:0::9")]]),
        ...policy({ nodeNetworks }),
      },
    ],
    [
      "leave serving-ip-foreign",
      names("ip:127.0.0.1"),
      {
        inventory: noIps,
        nodes: new Map([["w0", nodeOf("w0", "127.0.0.1")]]),
        ...policy({ nodeNetworks: new Networks(["0.0.0.0/0"]) }),
      },
    ],
  ])("%s", async (expected, request, state) => expect(await verdict("serving", request, state)).toBe(expected));

  test("is renewed with the names it had, also when the worker's entry was cleared", async () => {
    const had = remembering({
      ...approvedRecord,
      serving: { request: "csr-first", at: startTime, names: ["DNS:w0", "IP:10.0.0.10"] },
    });
    const later = { ...had, now: startTime + 30 * minute };
    expect(await verdict("serving", {}, later)).toBe("approve all");
    expect(await verdict("serving", names("ip:10.0.0.10", "dns:w0"), later)).toBe("approve all");
    const cleared = { ...later, inventory: inventoryOf([]) };
    expect(await verdict("serving", {}, cleared)).toBe("approve all");
    expect(await verdict("serving", names("dns:other", "ip:10.0.0.10"), cleared)).toBe("leave serving-same");
    const { serving: _, ...without } = had.memory!.get("w0")!;
    expect(await verdict("serving", {}, { ...cleared, ...remembering(without) })).toBe("leave serving-ips");
  });
});

describe("a renewed serving certificate for other names", () => {
  const had = (...before: readonly string[]) => ({
    ...remembering({ ...approvedRecord, serving: { request: "csr-first", at: startTime, names: before } }),
    now: startTime + 30 * minute,
  });
  const before = had("DNS:w0", "IP:10.0.0.10");
  const given = (...ips: readonly string[]) => ({ inventory: inventoryOf([{ ...worker, ips, isObject: true }]) });
  const moved = names("dns:w0", "ip:10.0.0.11");
  const nodes = new Map([["w0", nodeOf("w0", "10.0.0.11")]]);

  test.each<[string, RequestChange, Partial<ClusterState>]>([
    ["approve all", moved, given("10.0.0.11")],
    ["approve all", names("dns:w0", "ip:10.0.0.10", "ip:fd00::1"), given("10.0.0.10", "fd00::1")],
    ["approve all", names("dns:w0", "dns:w0.example", "ip:10.0.0.10"), {}],
    ["approve all", names("dns:w0"), {}],
    // It had the first address, and the Worker does not list it any more.
    ["leave serving-ips", names("dns:w0", "ip:10.0.0.10", "ip:10.0.0.11"), given("10.0.0.11")],
    ["leave serving-ips", moved, given("10.0.0.10")],
    ["leave serving-dns", names("dns:other", "ip:10.0.0.11"), given("10.0.0.11")],
    ["leave serving-same", moved, { ...given(), nodes, ...policy({ nodeNetworks: new Networks(["10.0.0.0/24"]) }) }],
    ["leave serving-same", moved, { inventory: inventoryOf([]), nodes }],
  ])("%s", async (expected, request, state) =>
    expect(await verdict("serving", request, { ...before, ...state })).toBe(expected),
  );

  test("is refused with the command that confirms them", async () => {
    const command = "drawbridge workers create --namespace clusters --pool workers --names w0 --ips w0=10.0.0.11";
    const policyWithNetwork = policy({ nodeNetworks: new Networks(["10.0.0.0/24"]) });
    const reported = await decision("serving", moved, { ...before, ...given(), nodes, ...policyWithNetwork });
    expect(reported?.explanation).toBe(
      `w0 had DNS:w0, IP:10.0.0.10 and now asks for DNS:w0, IP:10.0.0.11, which the inventory does not list; if it should: ${command}`,
    );
    const listed = await decision("serving", moved, { ...before, ...given("10.0.0.10") });
    expect(listed?.explanation).toBe(`10.0.0.11 is not an address of w0 in the inventory; if it should: ${command}`);
    const named = await decision("serving", names("dns:w0", "dns:w0.corp"), { ...before, ...given("10.0.0.10") });
    expect(named?.explanation).toBe(
      `w0.corp is not a name of w0; if it should: ${command.replace("--ips w0=10.0.0.11", "--dns-names w0=w0.corp")}`,
    );
    const shell = await decision("serving", names("dns:w0", "dns:$(reboot)"), { ...before, ...given("10.0.0.10") });
    expect(shell?.explanation).toBe("$(reboot) is not a name of w0");
    const inFiles = await decision("serving", moved, before);
    expect(inFiles?.explanation).toBe("10.0.0.11 is not an address of w0 in the inventory");
  });

  test("holds the new ones, and the old ones until their certificate ends", async () => {
    const until = startTime + 60 * minute;
    const old = { names: ["DNS:w0", "IP:10.0.0.10"], until };
    const record = {
      ...approvedRecord,
      held: [old],
      serving: { request: "csr-first", at: startTime, names: old.names },
    };
    const made = await decision("serving", moved, { ...before, ...remembering(record), ...given("10.0.0.11") });
    expect(made?.remember).toMatchObject({
      serving: { names: ["DNS:w0", "IP:10.0.0.11"] },
      held: [old, { names: ["DNS:w0", "IP:10.0.0.11"], request: "uid-csr-serving", until: 0 }],
    });
    // Whoever is given the old address next waits for that end.
    const heir: Partial<ClusterState> = {
      inventory: inventoryOf([worker, { ...worker, name: "w1", ips: ["10.0.0.11"], dnsNames: [] }]),
      memory: new Map([
        ["w0", approvedRecord],
        ["w1", { ...made!.remember, held: [{ ...old, names: ["DNS:w1", "IP:10.0.0.10"] }] }],
      ]),
    };
    expect(await verdict("serving", {}, { ...heir, now: until - 1 })).toBe("leave serving-owner");
    expect(await verdict("serving", {}, { ...heir, now: until })).toBe("approve all");
  });

  describe("is refused although its Worker lists an address that is somebody else's", () => {
    const lists = given("10.0.0.11").inventory.workers.get("w0")!;
    const w1 = { ...worker, name: "w1", dnsNames: [] };
    const inventory = (...others: (typeof w1)[]) => inventoryOf([lists, ...others]);
    const record = approvedRecord;

    test.each<[string, string, Partial<ClusterState>]>([
      ["leave serving-owner", "another Worker", { inventory: inventory({ ...w1, ips: ["10.0.0.11"] }) }],
      [
        "leave serving-owner",
        "a certificate of another node",
        {
          inventory: inventory({ ...w1, ips: [] }),
          memory: new Map([
            ["w0", before.memory!.get("w0")!],
            ["w1", { ...record, held: [{ names: ["IP:10.0.0.11"], until: startTime + 60 * minute }] }],
          ]),
        },
      ],
      [
        "leave serving-owner",
        "a node of the control plane",
        {
          inventory: inventory(),
          nodes: new Map([
            ["w0", nodeOf("w0", "10.0.0.11")],
            [
              "cp-0",
              {
                ...nodeOf("cp-0", "10.0.0.11"),
                metadata: { name: "cp-0", labels: { "node-role.kubernetes.io/control-plane": "" } },
              },
            ],
          ]),
        },
      ],
      ["leave serving-ip-foreign", "the API server", { inventory: inventory(), apiServer: new Set(["10.0.0.11"]) }],
      [
        "leave serving-ip-foreign",
        "a service",
        { inventory: inventory(), ...policy({ foreignNetworks: new Networks(["10.0.0.11/32"]) }) },
      ],
      // A node's word about itself takes nothing away that the Worker gives.
      [
        "approve all",
        "nobody, although another node reports it",
        {
          inventory: inventory({ ...w1, ips: [] }),
          nodes: new Map([
            ["w0", nodeOf("w0", "10.0.0.11")],
            ["w1", nodeOf("w1", "10.0.0.11")],
          ]),
        },
      ],
    ])("%s: %s", async (expected, _, state) =>
      expect(await verdict("serving", moved, { ...before, ...state })).toBe(expected),
    );
  });
});

describe("a person's decision", () => {
  test("overrides rules about expectations, never rules about shape and identity", async () => {
    const unexpected = await signingRequest("client", named("system:node:stranger"));
    const state = clusterState("client");
    expect(await decide(unexpected, state, new Set(["expected"]))).toMatchObject({
      action: "approve",
      remember: { pool: "", client: { request: "csr-client" } },
    });
    const forged = await signingRequest("client", { subject: [{ O: ["system:masters"] }, { CN: ["system:node:w0"] }] });
    expect(await decide(forged, state, new Set(["subject-group"]))).toMatchObject({ action: "deny" });
    const foreigner = await signingRequest("client", { spec: { username: "me" } });
    expect(await decide(foreigner, state, new Set(["bootstrap-identity"]))).toMatchObject({ action: "leave" });
  });
});

describe("the brake's count", () => {
  test("is of young, undecided requests of nodes", async () => {
    const now = startTime + 90 * minute;
    const requests = await Promise.all([
      signingRequest("client", { createdAt: now - 60 * minute + 1 }),
      signingRequest("serving", { createdAt: now }),
      signingRequest("client", { createdAt: now - 60 * minute }),
      signingRequest("client", { createdAt: now, status: { conditions: [{ type: "Approved", status: "True" }] } }),
      signingRequest("client", { createdAt: now, spec: { signerName: "example.com/x" } }),
    ]);
    expect(countRecentPending(requests, now)).toBe(2);
  });
});
