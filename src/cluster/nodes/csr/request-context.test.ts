import { describe, expect, test } from "vitest";
import type { Node } from "../objects.js";
import { startTime } from "../testing/pools.js";
import {
  approvedRecord,
  clusterState,
  inventoryOf,
  nodeOf,
  pool,
  signingRequest,
  worker,
} from "../testing/requests.js";
import { decide } from "./decide.js";
import type { NodeRecord } from "./memory.js";
import { Networks } from "./names.js";
import { type ClusterState, defaultPolicy } from "./request-context.js";

const day = 24 * 3_600_000;
const now = startTime + 30 * 60_000;
const own = nodeOf("w0", "10.0.0.10");

/** Nobody wrote down the address of w0: what its Node says counts within the network of nodes. */
function state(change: Partial<ClusterState> & { readonly others?: Record<string, Node> } = {}): ClusterState {
  const { others = {}, ...rest } = change;
  return clusterState("serving", {
    now,
    policy: { ...defaultPolicy, nodeNetworks: new Networks(["10.0.0.0/16"]) },
    inventory: inventoryOf([{ ...worker, ips: [] }]),
    nodes: new Map([["w0", own], ...Object.entries(others)]),
    ...rest,
  });
}

async function decision(surrounding: ClusterState, ...names: readonly string[]) {
  const asked = (names.length > 0 ? names : ["dns:w0", "ip:10.0.0.10"]).map((name) => {
    const [type, ...rest] = name.split(":");
    return { type: type as "dns", value: rest.join(":") };
  });
  const made = decide(await signingRequest("serving", { names: asked }), surrounding)!;
  return made.action === "approve" ? "approved" : `${made.rule}: ${made.explanation}`;
}

const controlPlane = (name: string, ip: string): Node => ({
  ...nodeOf(name, ip),
  metadata: { name, labels: { "node-role.kubernetes.io/control-plane": "" } },
});
const holding = (change: Partial<NodeRecord>): Partial<ClusterState> => ({
  memory: new Map<string, NodeRecord>([
    ["w0", approvedRecord],
    ["w1", { pool, ...change }],
  ]),
});
const certificate = { names: ["DNS:w1", "IP:10.0.0.10"], until: startTime + day };

describe("an address that a node says is its own", () => {
  test("is approved while nobody else has it", async () => {
    const others = { w1: nodeOf("w1", "10.0.0.11"), cp: controlPlane("cp", "10.0.0.1") };
    expect(await decision(state({ others }))).toBe("approved");
  });

  test("is refused when the inventory gives it to another worker", async () => {
    const inventory = inventoryOf([
      { ...worker, ips: [] },
      { ...worker, name: "w1", ips: ["10.0.0.10"] },
    ]);
    expect(await decision(state({ inventory }))).toBe("serving-owner: 10.0.0.10 belongs to w1, by the inventory");
  });

  test("is refused when another Node has it, in whatever spelling", async () => {
    const others = { w1: nodeOf("w1", "::ffff:10.0.0.10") };
    expect(await decision(state({ others }))).toBe("serving-owner: 10.0.0.10 belongs to w1, by its Node's addresses");
  });

  test("is refused when a node of the control plane has it, even if the inventory lists it", async () => {
    const others = { cp: controlPlane("cp", "10.0.0.10") };
    const belongs = "serving-owner: 10.0.0.10 belongs to cp of the control plane, by its Node's addresses";
    expect(await decision(state({ others }))).toBe(belongs);
    expect(await decision(state({ others, inventory: inventoryOf([worker]) }))).toBe(belongs);
  });

  test("is refused while a certificate that was approved for another holds it", async () => {
    const others = { w1: nodeOf("w1", "10.0.0.11") };
    expect(await decision(state({ others, ...holding({ held: [certificate] }) }))).toBe(
      "serving-owner: 10.0.0.10 belongs to w1, by its certificate until 2031-01-02T00:00:00.000Z",
    );
    const unsigned = { names: certificate.names, request: "csr-w1", until: 0 };
    expect(await decision(state({ others, ...holding({ held: [unsigned] }) }))).toBe(
      "serving-owner: 10.0.0.10 belongs to w1, by its certificate",
    );
    // As it was written before ends were remembered.
    const serving = { request: "csr-w1", at: startTime, names: certificate.names };
    expect(await decision(state({ others, ...holding({ serving }) }))).toContain("belongs to w1, by its certificate");
  });

  test("is free again when that certificate ends, or its worker is removed", async () => {
    const others = { w1: nodeOf("w1", "10.0.0.11") };
    const held = holding({ held: [certificate] });
    expect(await decision(state({ ...held, others, now: startTime + day }))).toBe("approved");
    expect(await decision(state(held))).toBe("approved");
    const listed = inventoryOf([
      { ...worker, ips: [] },
      { ...worker, name: "w1", ips: [] },
    ]);
    expect(await decision(state({ ...held, inventory: listed }))).toContain("belongs to w1");
  });
});

describe("what another node says of itself", () => {
  const others = { w1: nodeOf("w1", "10.0.0.10") };

  test("takes away neither what the inventory gives, nor what a certificate holds already", async () => {
    expect(await decision(state({ others, inventory: inventoryOf([worker]) }))).toBe("approved");
    const serving = { request: "csr-first", at: startTime, names: ["DNS:w0", "IP:10.0.0.10"] };
    const renewing = { memory: new Map([["w0", { ...approvedRecord, serving }]]) };
    expect(await decision(state({ others, ...renewing }))).toBe("approved");
  });

  test("does not take away a node's own name", async () => {
    const posing = nodeOf("w1", "10.0.0.11");
    const addresses = [{ type: "Hostname", address: "w0" }, ...(posing.status?.addresses ?? [])];
    expect(await decision(state({ others: { w1: { ...posing, status: { addresses } } } }))).toBe("approved");
  });
});

describe("a DNS name of somebody else is refused, and it is said whose it is", () => {
  const listing = (dnsNames: readonly string[]) => [
    { ...worker, dnsNames: ["shared.example", "w1", "cp.example"] },
    { ...worker, name: "w1", ips: [], dnsNames },
  ];

  test.each<[string, Partial<ClusterState> & { others?: Record<string, Node> }, string]>([
    [
      "dns:shared.example",
      { inventory: inventoryOf(listing(["shared.example"])) },
      "shared.example belongs to w1, by the inventory",
    ],
    ["dns:w1", { inventory: inventoryOf(listing([])) }, "w1 belongs to w1, by the inventory"],
    [
      "dns:w1.example",
      {
        others: {
          w1: { metadata: { name: "w1" }, status: { addresses: [{ type: "InternalDNS", address: "W1.example." }] } },
        },
      },
      "w1.example belongs to w1, by its Node's addresses",
    ],
    ["dns:w9", { others: { w9: nodeOf("w9") } }, "w9 belongs to w9, by its Node's addresses"],
    [
      "dns:old.example",
      holding({ held: [{ names: ["DNS:old.example"], until: startTime + day }] }),
      "old.example belongs to w1, by its certificate",
    ],
  ])("%s", async (name, change, whose) => {
    const present = { w1: nodeOf("w1", "10.0.0.11"), ...change.others };
    expect(await decision(state({ ...change, others: present }), "dns:w0", name)).toContain(`serving-owner: ${whose}`);
  });
});

describe("an address of the API server", () => {
  const apiServer = new Set(["10.0.0.10"]);

  test("is no node's", async () => {
    const refused = "serving-ip-foreign: 10.0.0.10 is the API server's";
    expect(await decision(state({ apiServer }))).toBe(refused);
    expect(await decision(state({ apiServer, inventory: inventoryOf([worker]) }))).toBe(refused);
  });

  test("may be that of a node of the control plane, if the inventory says so", async () => {
    const nodes = new Map([["w0", controlPlane("w0", "10.0.0.10")]]);
    expect(await decision(state({ apiServer, nodes, inventory: inventoryOf([worker]) }))).toBe("approved");
    expect(await decision(state({ apiServer, nodes }))).toContain("is the API server's");
  });
});
