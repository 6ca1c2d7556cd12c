/** Requests that break one rule each, and the inventory they are held against. */
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import { forms } from "./csr-forms.js";
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
  /** The explanation, where the rule alone does not say it. */
  readonly why?: string;
}

/** A Node that the approver has nothing to do with. */
export const CONTROL_PLANE = { name: "cp-0", ip: "192.0.2.1" };

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

/** Its address is in the inventory, and the node has it; one that nobody else has. */
const member = (last: number) => ({
  worker: { joined: true, ips: [`192.0.2.${last}`] },
  nodeIps: [`192.0.2.${last}`],
});
/** Only the node itself says which address it has. */
const unlisted = (...nodeIps: readonly string[]) => ({ worker: { joined: true }, nodeIps });

export const servingRows: readonly Row[] = [
  { rule: "", what: "a node's own name and address", node: "s-good", ...member(101) },
  {
    rule: "",
    what: "an address only the node knows, in a network of nodes",
    node: "s-self",
    ...unlisted("192.0.2.102"),
  },
  {
    rule: "node-identity",
    what: "another node",
    node: "s-other",
    ...member(103),
    as: { user: "system:node:s-good", group: "system:nodes" },
    denied: true,
  },
  {
    rule: "node-identity",
    what: "a user outside the nodes' group",
    node: "s-group",
    ...member(104),
    as: { user: "system:node:s-group", group: FILERS },
  },
  { rule: "known-node", what: "a node that nobody let in", node: "s-alien", worker: {}, nodeIps: ["192.0.2.105"] },
  { rule: "node-present", what: "a node that is not there", node: "s-absent", worker: member(106).worker },
  {
    rule: "subject-group",
    what: "the administrators' group",
    node: "s-masters",
    ...member(107),
    subject: `/O=system:masters${subjectOf("s-masters")}`,
    denied: true,
  },
  { rule: "usages", what: "a client's usages", node: "s-usages", ...member(108), usages: CLIENT },
  { rule: "serving-names", what: "no name", node: "s-empty", ...member(109), names: "" },
  {
    rule: "serving-names",
    what: "an e-mail address",
    node: "s-mail",
    ...member(110),
    names: "DNS:s-mail,email:a@b.example",
  },
  { rule: "serving-names", what: "a URI", node: "s-uri", ...member(111), names: "DNS:s-uri,URI:spiffe://x" },
  {
    rule: "request-readable",
    what: "a name that signers leave out",
    node: "s-upn",
    ...member(112),
    names: "DNS:s-upn,otherName:1.3.6.1.4.1.311.20.2.3;UTF8:admin",
  },
  {
    rule: "serving-owner",
    what: "another worker's name",
    node: "s-dns",
    ...member(113),
    names: "DNS:s-dns,DNS:s-good",
    why: "s-good belongs to s-good, by the inventory",
  },
  {
    rule: "serving-dns",
    what: "a name that nobody gave it",
    node: "s-more",
    ...member(114),
    names: "DNS:s-more,DNS:s-more.example",
  },
  { rule: "serving-dns", what: "a wildcard", node: "s-star", ...member(115), names: "DNS:*.example" },
  {
    rule: "name-reserved",
    what: "the API server's name",
    node: "s-api",
    ...member(116),
    names: "DNS:s-api,DNS:kubernetes.default.svc",
  },
  {
    rule: "serving-ips",
    what: "an address beyond the inventory",
    node: "s-ip",
    ...member(117),
    names: "IP:192.0.2.117,IP:192.0.2.217",
  },
  {
    rule: "serving-ips",
    what: "an address that is not the node's",
    node: "s-lie",
    ...unlisted("192.0.2.118"),
    names: "IP:192.0.2.66",
  },
  { rule: "serving-ips", what: "an address outside the networks of nodes", node: "s-far", ...unlisted("198.51.100.1") },
  {
    rule: "serving-owner",
    what: "an address that the inventory gives to another worker",
    node: "s-thief",
    ...unlisted("192.0.2.113"),
    why: "192.0.2.113 belongs to s-dns, by the inventory",
  },
  {
    rule: "serving-owner",
    what: "an address that another Node has",
    node: "s-twin",
    ...unlisted("192.0.2.105"),
    why: "192.0.2.105 belongs to s-alien, by its Node's addresses",
  },
  {
    rule: "serving-owner",
    what: "an address of a node of the control plane, even if the inventory lists it",
    node: "s-master",
    worker: { joined: true, ips: [CONTROL_PLANE.ip] },
    nodeIps: [CONTROL_PLANE.ip],
    why: `${CONTROL_PLANE.ip} belongs to ${CONTROL_PLANE.name} of the control plane, by its Node's addresses`,
  },
  {
    rule: "serving-ip-foreign",
    what: "a loopback address",
    node: "s-loop",
    worker: { joined: true, ips: ["127.0.0.1"] },
    nodeIps: ["192.0.2.119"],
    names: "IP:127.0.0.1",
  },
  {
    rule: "serving-ip-foreign",
    what: "an address of a service",
    node: "s-svc",
    worker: { joined: true, ips: ["10.96.0.9"] },
    nodeIps: ["192.0.2.120"],
    names: "IP:10.96.0.9",
  },
  {
    rule: "serving-ip-foreign",
    what: "the address of the API server's service",
    node: "s-first",
    worker: { joined: true, ips: ["10.96.0.1"] },
    nodeIps: ["192.0.2.121"],
    names: "IP:10.96.0.1",
    why: "10.96.0.1 is the API server's",
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
  const more = ["twin", "after-foreign", "in-flood", "dry", "after", "hidden"].map((name) => ({
    name,
    notBefore: minutesFromNow(-1),
  }));
  const heirs = ["s-tenant", "s-heir"].map((name) => ({ name, joined: true, notBefore: minutesFromNow(-1) }));
  const formed = forms.map(({ ips, node: name }) => ({ name, ips, joined: true, notBefore: minutesFromNow(-1) }));
  const life = { name: "life", ips: ["192.0.2.20"], dnsNames: ["life.example"], notBefore: minutesFromNow(-1) };
  const full = { name: "full", joined: true, notBefore: minutesFromNow(-1) };
  return [
    { pool: POOL, workers: [...(workers.get(POOL) ?? []), ...more, ...heirs, ...formed, life], claims },
    { pool: "lab/unclaimed", workers: workers.get("lab/unclaimed") },
    { pool: "lab/full", replicas: 1, workers: [...(workers.get("lab/full") ?? []), full], claims },
  ];
}
