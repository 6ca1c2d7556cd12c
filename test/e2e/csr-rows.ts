/** Requests that break one rule each, and the inventory they are held against. */
import { defaultPolicy } from "../../src/nodepool/csr/policy.js";
import { FILERS } from "./csr-lab.js";

export const POOL = "lab/workers";
export const CLIENT = ["digital signature", "client auth"];
export const SERVING = ["digital signature", "server auth"];

export const minutesFromNow = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString();
export const subjectOf = (node: string) => `/O=system:nodes/CN=system:node:${node}`;

export interface Row {
  /** The rule it breaks; empty when it breaks none. */
  readonly rule: string;
  readonly what: string;
  /** Node name, and what the name of the request begins with. */
  readonly node: string;
  /** Of its entry in the inventory; undefined: it has none. */
  readonly worker?: object | undefined;
  readonly pool?: string;
  readonly subject?: string;
  readonly names?: string;
  readonly usages?: readonly string[];
  readonly extension?: string;
  readonly key?: "weak";
  readonly as?: { readonly user: string; readonly group: string };
  /** Addresses of the Node that is there; undefined: there is none. */
  readonly nodeIps?: readonly string[];
  readonly denied?: boolean;
}

const stranger = { user: "mallory", group: FILERS };
const bootstrapperOfAnotherGroup = { user: defaultPolicy.bootstrapUser, group: FILERS };

export const clientRows: readonly Row[] = [
  { rule: "", what: "a machine that is expected", node: "good" },
  { rule: "request-key", what: "a weak key", node: "weak", key: "weak" },
  {
    rule: "subject-name",
    what: "a name that is not a node's",
    node: "admin",
    subject: "/O=system:nodes/CN=system:admin",
  },
  {
    rule: "subject-name",
    what: "two common names",
    node: "twice",
    subject: `${subjectOf("twice")}/CN=system:node:twice`,
  },
  { rule: "subject-name", what: "a wildcard", node: "star", subject: subjectOf("*") },
  { rule: "subject-group", what: "no group", node: "nogroup", subject: "/CN=system:node:nogroup" },
  {
    rule: "subject-group",
    what: "the administrators' group",
    node: "masters",
    subject: `/O=system:masters${subjectOf("masters")}`,
    denied: true,
  },
  { rule: "subject-parts", what: "a further part of the subject", node: "unit", subject: `/OU=x${subjectOf("unit")}` },
  { rule: "extensions", what: "a wish to be an authority", node: "ca", extension: "basicConstraints=critical,CA:TRUE" },
  { rule: "usages", what: "a usage too many", node: "usages", usages: [...CLIENT, "server auth"] },
  { rule: "usages", what: "a usage too few", node: "usage", usages: ["client auth"] },
  { rule: "name-reserved", what: "a name of the control plane", node: "kubernetes" },
  { rule: "client-names", what: "a DNS name", node: "dns", names: "DNS:dns" },
  { rule: "client-names", what: "an address", node: "ip", names: "IP:192.0.2.9" },
  { rule: "bootstrap-identity", what: "another user", node: "mallory", as: stranger },
  { rule: "bootstrap-identity", what: "other groups", node: "groups", as: bootstrapperOfAnotherGroup },
  { rule: "expected", what: "a machine nobody expects", node: "unknown", worker: undefined },
  { rule: "window", what: "a machine that is too early", node: "early", worker: { notBefore: minutesFromNow(5) } },
  { rule: "window", what: "a machine that is too late", node: "late", worker: { notBefore: minutesFromNow(-180) } },
  { rule: "not-joined", what: "a machine that has joined before", node: "joined", worker: { joined: true } },
  { rule: "node-absent", what: "a name that a node has", node: "taken", nodeIps: [] },
  { rule: "claim", what: "a machine that never fetched its configuration", node: "unclaimed", pool: "lab/unclaimed" },
  { rule: "pool-size", what: "a machine too many", node: "surplus", pool: "lab/full" },
];

const member = { joined: true, ips: ["192.0.2.10"] };
const own = ["192.0.2.10"];

export const servingRows: readonly Row[] = [
  { rule: "", what: "a node's own name and address", node: "s-good", worker: member, nodeIps: own },
  {
    rule: "",
    what: "an address only the node knows, in a network of nodes",
    node: "s-self",
    worker: { joined: true },
    nodeIps: own,
  },
  {
    rule: "node-identity",
    what: "another node",
    node: "s-other",
    worker: member,
    nodeIps: own,
    as: { user: "system:node:s-good", group: "system:nodes" },
    denied: true,
  },
  {
    rule: "node-identity",
    what: "a user outside the nodes' group",
    node: "s-group",
    worker: member,
    nodeIps: own,
    as: { user: "system:node:s-group", group: FILERS },
  },
  { rule: "known-node", what: "a node that nobody let in", node: "s-alien", worker: {}, nodeIps: own },
  { rule: "node-present", what: "a node that is not there", node: "s-absent", worker: member },
  {
    rule: "subject-group",
    what: "the administrators' group",
    node: "s-masters",
    worker: member,
    nodeIps: own,
    subject: `/O=system:masters${subjectOf("s-masters")}`,
    denied: true,
  },
  { rule: "usages", what: "a client's usages", node: "s-usages", worker: member, nodeIps: own, usages: CLIENT },
  { rule: "serving-names", what: "no name", node: "s-empty", worker: member, nodeIps: own, names: "" },
  {
    rule: "serving-names",
    what: "an e-mail address",
    node: "s-mail",
    worker: member,
    nodeIps: own,
    names: "DNS:s-mail,email:a@b.example",
  },
  {
    rule: "serving-names",
    what: "a URI",
    node: "s-uri",
    worker: member,
    nodeIps: own,
    names: "DNS:s-uri,URI:spiffe://x",
  },
  {
    rule: "serving-dns",
    what: "another's name",
    node: "s-dns",
    worker: member,
    nodeIps: own,
    names: "DNS:s-dns,DNS:s-good",
  },
  { rule: "serving-dns", what: "a wildcard", node: "s-star", worker: member, nodeIps: own, names: "DNS:*.example" },
  {
    rule: "name-reserved",
    what: "the API server's name",
    node: "s-api",
    worker: member,
    nodeIps: own,
    names: "DNS:s-api,DNS:kubernetes.default.svc",
  },
  {
    rule: "serving-ips",
    what: "an address beyond the inventory",
    node: "s-ip",
    worker: member,
    nodeIps: own,
    names: "IP:192.0.2.10,IP:192.0.2.11",
  },
  {
    rule: "serving-ips",
    what: "an address that is not the node's",
    node: "s-lie",
    worker: { joined: true },
    nodeIps: own,
    names: "IP:192.0.2.66",
  },
  {
    rule: "serving-ips",
    what: "an address outside the networks of nodes",
    node: "s-far",
    worker: { joined: true },
    nodeIps: ["198.51.100.1"],
    names: "IP:198.51.100.1",
  },
  {
    rule: "serving-ip-foreign",
    what: "a loopback address",
    node: "s-loop",
    worker: { joined: true, ips: ["127.0.0.1"] },
    nodeIps: own,
    names: "IP:127.0.0.1",
  },
  {
    rule: "serving-ip-foreign",
    what: "an address of a service",
    node: "s-svc",
    worker: { joined: true, ips: ["10.96.0.1"] },
    nodeIps: own,
    names: "IP:10.96.0.1",
  },
];

export function inventoryDocuments(): object[] {
  const { claims, workers } = { claims: [{ at: minutesFromNow(0) }], workers: new Map<string, object[]>() };
  for (const row of [...clientRows, ...servingRows]) {
    if ("worker" in row && row.worker === undefined) continue;
    const pool = row.pool ?? POOL;
    const entry = { name: row.node, notBefore: minutesFromNow(-1), ...row.worker };
    workers.set(pool, [...(workers.get(pool) ?? []), entry]);
  }
  const more = ["twin", "after-foreign", "in-flood", "dry", "after"].map((name) => ({
    name,
    notBefore: minutesFromNow(-1),
  }));
  const life = { name: "life", ips: ["192.0.2.20"], dnsNames: ["life.example"], notBefore: minutesFromNow(-1) };
  const full = { name: "full", joined: true, notBefore: minutesFromNow(-1) };
  return [
    { pool: POOL, workers: [...(workers.get(POOL) ?? []), ...more, life], claims },
    { pool: "lab/unclaimed", workers: workers.get("lab/unclaimed") },
    { pool: "lab/full", replicas: 1, workers: [...(workers.get("lab/full") ?? []), full], claims },
  ];
}
