/** The rules that a kubelet's certificate signing request must keep to be approved, as one table. */
import type { Node } from "../objects.js";
import { isNodeName, isReservedName, plainAddress, UNUSABLE_NETWORKS } from "./names.js";
import {
  BRAKE_MARGIN,
  type ClusterState,
  isControlPlane,
  namesGiven,
  namesOf,
  ownerOf,
  RATE_WINDOW_MS,
  RETRY_AFTER_MS,
  type ReadableRequest,
  type RequestContext,
  SKEW_MS,
} from "./request-context.js";
import { createdAt, NODE_USER_PREFIX, type RequestKind, requestName } from "./signing-request.js";

/** How a request breaks a rule. A forgery is no accident: no kubelet makes such a request. */
interface Objection {
  readonly why: string;
  readonly forgery?: boolean;
}

interface RequestRule<Context> {
  /** What the rule demands, for `csr explain`. */
  readonly demands: string;
  /** Which requests it is for. */
  readonly kinds: readonly RequestKind[];
  /** Whether a person may decide otherwise with `csr approve --despite`. */
  readonly yields: boolean;
  /** Undefined when the request is in order, or when another rule objects to what this one would need. */
  readonly check: (of: Context) => string | Objection | undefined;
}

/** Rules by their stable ids, which logs, tests and `--despite` name. */
export type Rules<Context> = Readonly<Record<string, RequestRule<Context>>>;

export const BRAKE_RULE = "brake";

/** More requests than that are a flood. */
export function mostPending({ inventory, nodes }: Pick<ClusterState, "inventory" | "nodes">): number {
  return Math.max(inventory.workers.size, nodes.size) + BRAKE_MARGIN;
}

const ALL: readonly RequestKind[] = ["client", "renewal", "serving"];
/** A machine's first certificate, which every machine requests with the same credential. */
const FIRST: readonly RequestKind[] = ["client"];
const CLIENT: readonly RequestKind[] = ["client", "renewal"];
const SERVING: readonly RequestKind[] = ["serving"];
/** Requests that a node makes itself. */
const BY_NODE: readonly RequestKind[] = ["renewal", "serving"];

const rule =
  (yields: boolean) =>
  <Context>(
    kinds: readonly RequestKind[],
    demands: string,
    check: RequestRule<Context>["check"],
  ): RequestRule<Context> => ({ demands, kinds, yields, check });
const strict = rule(false);
const yielding = rule(true);

/** Rules for every request, also for one that cannot be read. */
export const firstRules: Rules<RequestContext> = {
  [BRAKE_RULE]: yielding(ALL, `there are at most ${BRAKE_MARGIN} more young requests than machines`, (of) => {
    const { recentPending } = of;
    const most = mostPending(of);
    if (recentPending <= most) return undefined;
    return `${recentPending} requests are pending and ${most} would be plausible: somebody floods, so nothing is approved`;
  }),
  "request-readable": strict(ALL, "the request is one PKCS #10 request in PEM", ({ facts, unreadable }) =>
    facts === undefined ? unreadable : undefined,
  ),
};

const GROUP = "system:nodes";
const GOOD_KEY = /^P-(256|384|521)$|^RSA-(2048|3072|4096)$/;

/** Rules in order: of those that a request breaks, the first is reported. */
export const requestRules: Rules<ReadableRequest> = {
  // The signer would refuse most of the following, but only after an approval.
  "request-signature": strict(ALL, "the request is signed with the key it asks a certificate for", ({ facts }) =>
    facts.signatureFits ? undefined : { why: "the signature is not made with the request's key", forgery: true },
  ),
  "request-key": strict(ALL, "the key is ECDSA on a NIST curve, or RSA with 2048 to 4096 bits", ({ facts }) =>
    GOOD_KEY.test(facts.key) ? undefined : `the key is ${facts.key}`,
  ),
  "subject-name": strict(
    ALL,
    "the subject has one common name, system:node: and a node name",
    ({ facts, nodeName }) => {
      if (facts.commonNames.length !== 1) return `the subject has ${facts.commonNames.length} common names`;
      const [name] = facts.commonNames;
      if (!name!.startsWith(NODE_USER_PREFIX)) return `the common name ${JSON.stringify(name)} is not a node's`;
      return isNodeName(nodeName) ? undefined : `${JSON.stringify(nodeName)} is not a name a node can have`;
    },
  ),
  "subject-group": strict(ALL, `the subject's only organization is ${GROUP}`, ({ facts }) => {
    const extra = facts.organizations.filter((name) => name !== GROUP);
    // A certificate's organizations are the groups its holder belongs to.
    if (extra.length > 0) return { why: `the subject asks for membership in ${extra.join(", ")}`, forgery: true };
    return facts.organizations.length === 1 ? undefined : `the subject must have the organization ${GROUP} once`;
  }),
  "subject-parts": strict(ALL, "the subject has no other parts", ({ facts }) =>
    listed(facts.otherSubjectParts, (parts) => `the subject also has ${parts}`),
  ),
  extensions: strict(ALL, "no extension is asked for but names", ({ facts }) =>
    listed(facts.otherExtensions, (extensions) => `it asks for the extensions ${extensions}`),
  ),
  usages: strict(ALL, "the usages are exactly a kubelet's", ({ kind, request }) => {
    const needed = ["digital signature", kind === "serving" ? "server auth" : "client auth"];
    const asked = request.spec?.usages ?? [];
    // Kubelets up to 1.26 add it to every key, later ones to RSA keys; the signer takes either.
    const allowed = [...needed, "key encipherment"];
    const fits = needed.every((one) => asked.includes(one)) && asked.every((one) => allowed.includes(one));
    if (fits && new Set(asked).size === asked.length) return undefined;
    return `the usages are ${asked.join(", ") || "missing"}`;
  }),
  "name-reserved": strict(ALL, "no name is one of the control plane's", ({ facts, nodeName, policy }) => {
    const names = [nodeName, ...facts.dnsNames].filter((name) => isReservedName(name, policy.reservedNames));
    return listed(names, (reserved) => `${reserved} belongs to the control plane`);
  }),
  "client-names": strict(
    CLIENT,
    "a client certificate is for no DNS name, address or other name",
    ({ facts: { dnsNames, ipAddresses, otherNames } }) =>
      listed([...dnsNames, ...ipAddresses, ...otherNames], (names) => `it asks for the names ${names}`),
  ),
  "bootstrap-identity": strict(
    FIRST,
    "it was filed with the bootstrap credential, user and groups exactly",
    ({ policy, request }) => {
      const { username = "", groups = [] } = request.spec ?? {};
      if (username !== policy.bootstrapUser)
        return `it was filed by ${username || "nobody"}, not by ${policy.bootstrapUser}`;
      if (isSameSet(groups, policy.bootstrapGroups)) return undefined;
      return `its groups are ${groups.join(", ")}, not ${policy.bootstrapGroups.join(", ")}`;
    },
  ),
  expected: yielding(FIRST, "the inventory lists a worker of that name", ({ nodeName, worker }) =>
    worker === undefined && nodeName !== "" ? `nobody expects ${nodeName}` : undefined,
  ),
  window: yielding(
    FIRST,
    "it was filed between the worker's notBefore and its deadline, and after a reinstallation",
    ({ request, worker }) => {
      if (worker === undefined) return undefined;
      const created = createdAt(request);
      // Both times are the API server's, so the old machine's requests are told from the new one's to the second.
      if (worker.reinstalled !== undefined && created <= worker.reinstalled) {
        const again = `${worker.name} was installed again at ${new Date(worker.reinstalled).toISOString()}`;
        return `it was filed at ${request.metadata?.creationTimestamp}, and ${again}: only requests after that are the new machine's`;
      }
      if (created > worker.notBefore - SKEW_MS && created < worker.deadline) return undefined;
      const [from, to] = [worker.notBefore, worker.deadline].map((time) => new Date(time).toISOString());
      return `it was filed at ${request.metadata?.creationTimestamp}, and ${worker.name} is expected from ${from} to ${to}`;
    },
  ),
  "not-joined": yielding(FIRST, "the worker has not joined before", ({ nodeName, remembered, worker }) =>
    remembered?.joinedAt !== undefined || worker?.joined
      ? `${nodeName} has joined already; a machine that replaces it needs a name of its own`
      : undefined,
  ),
  "node-absent": yielding(FIRST, "no node has that name", ({ node, nodeName }) =>
    node === undefined ? undefined : `there is a node ${nodeName}`,
  ),
  "single-client": yielding(
    FIRST,
    "no other first certificate was approved for the worker in the last quarter of an hour",
    ({ nodeName, now, remembered, request }) => {
      const earlier = remembered?.client;
      if (earlier === undefined || earlier.request === requestName(request)) return undefined;
      if (now - earlier.at > RETRY_AFTER_MS) return undefined;
      return `${earlier.request} was approved for ${nodeName} at ${new Date(earlier.at).toISOString()}`;
    },
  ),
  claim: yielding(
    FIRST,
    "a machine of the pool fetched its configuration before it asked, if that is asked for",
    ({ claims, nodeName, now, policy, poolName, request, worker }) => {
      if (!policy.needsClaim || worker === undefined) return undefined;
      // A claim that names a worker speaks for that worker only.
      const known = claims.filter(
        (claim) =>
          (claim.worker === undefined || claim.worker === nodeName) &&
          claim.at > worker.notBefore - SKEW_MS &&
          claim.at <= now + SKEW_MS,
      );
      if (known.length === 0) return `nobody was seen fetching the configuration of ${poolName} for ${nodeName}`;
      // Of claims without a name only the newest is kept: another machine's, perhaps.
      const created = createdAt(request);
      if (known.some(({ at, worker: name }) => name === undefined || at <= created + SKEW_MS)) return undefined;
      const fetched = new Date(known[0]!.at).toISOString();
      return `it was filed at ${request.metadata?.creationTimestamp}, before ${nodeName} fetched its configuration at ${fetched}`;
    },
  ),
  "pool-size": yielding(FIRST, "the pool has room: its replicas and the surge", (of) => {
    if (of.pool === undefined) return undefined;
    const most = (of.pool.replicas ?? of.pool.workers) + of.policy.surge;
    const taken = occupants(of);
    taken.delete(of.nodeName);
    if (taken.size < most) return undefined;
    return `${of.poolName} may have ${most} nodes and has ${taken.size}, counting those that are on their way`;
  }),
  "node-identity": strict(BY_NODE, "the node it names filed it itself", ({ nodeName, request }) => {
    if (nodeName === "") return undefined;
    const { username = "", groups = [] } = request.spec ?? {};
    const name = NODE_USER_PREFIX + nodeName;
    if (username !== name) return { why: `${username || "nobody"} asks for a certificate of ${name}`, forgery: true };
    const missing = [GROUP, "system:authenticated"].filter((group) => !groups.includes(group));
    return listed(missing, (names) => `${username} is not in ${names}`);
  }),
  "known-node": yielding(
    BY_NODE,
    "the approver approved the node, or the inventory says that it has joined",
    ({ nodeName, remembered, worker }) =>
      nodeName === "" || remembered?.client !== undefined || remembered?.joinedAt !== undefined || worker?.joined
        ? undefined
        : `${nodeName} was not approved by this approver`,
  ),
  "node-present": yielding(BY_NODE, "the node exists", ({ node, nodeName }) =>
    node === undefined && nodeName !== "" ? `there is no node ${nodeName}` : undefined,
  ),
  "serving-names": strict(SERVING, "it asks for DNS names and addresses only, and for at least one", ({ facts }) => {
    if (facts.otherNames.length > 0) return `it asks for ${facts.otherNames.join(", ")}`;
    return facts.dnsNames.length + facts.ipAddresses.length === 0 ? "it asks for no name at all" : undefined;
  }),
  "serving-owner": yielding(
    SERVING,
    "no name or address belongs to another worker, another Node or a certificate that was approved for another",
    (of) => {
      if (of.nodeName === "") return undefined;
      const taken = namesOf(of.facts).flatMap((name) => {
        const whose = ownerOf(name, of);
        return whose === undefined ? [] : [`${name.slice(name.indexOf(":") + 1)} belongs to ${whose}`];
      });
      return taken.length === 0 ? undefined : taken.join("; ");
    },
  ),
  "serving-dns": yielding(SERVING, "every DNS name is the node's own or in the inventory", (of) => {
    const { facts, nodeName, remembered, worker } = of;
    // The names of a node whose entry was cleared are compared as a whole.
    if (worker === undefined && remembered?.serving !== undefined) return undefined;
    const extra = facts.dnsNames.filter((name) => name !== nodeName && !worker?.dnsNames.includes(name));
    return listed(extra, (names) => `${names} is not a name of ${nodeName}${confirming(of)}`);
  }),
  "serving-ips": yielding(
    SERVING,
    "every address is in the inventory, or all are the node's own and in a network of nodes",
    (of) => {
      const { nodeName, remembered, worker } = of;
      if (worker === undefined && remembered?.serving !== undefined) return undefined;
      const asked = addressesIn(of);
      if (worker === undefined || worker.ips.length === 0) return asked.length === 0 ? undefined : notOwn(of, asked);
      const extra = asked.filter((address) => !worker.ips.includes(address));
      return listed(
        extra,
        (addresses) => `${addresses} is not an address of ${nodeName} in the inventory${confirming(of)}`,
      );
    },
  ),
  "serving-ip-foreign": strict(
    SERVING,
    "no address is a loopback, link-local, service, pod or control-plane address",
    (of) => {
      const { apiServer, node, policy, worker } = of;
      const asked = addressesIn(of);
      // A machine of the control plane shares its address with the API server that runs on it.
      const mayShare = (address: string) => node && isControlPlane(node) && worker?.ips.includes(address);
      const shared = asked.filter((address) => apiServer.has(address) && !mayShare(address));
      if (shared.length > 0) return `${shared.join(", ")} is the API server's`;
      const foreign = asked.filter((address) => UNUSABLE_NETWORKS.has(address) || policy.foreignNetworks.has(address));
      return listed(foreign, (addresses) => `${addresses} can be no node's own`);
    },
  ),
  "serving-same": yielding(
    SERVING,
    "a renewed certificate is for the same names as before, or all of them are in the inventory",
    (of) => {
      const before = of.remembered?.serving?.names;
      const asked = namesOf(of.facts);
      if (before === undefined || asked.join() === before.join()) return undefined;
      const given = namesGiven(of);
      if (of.worker !== undefined && asked.every((name) => given.includes(name))) return undefined;
      const change = `${of.nodeName} had ${before.join(", ")} and now asks for ${asked.join(", ")}`;
      return `${change}, which the inventory does not list${confirming(of)}`;
    },
  ),
  "node-pace": yielding(
    BY_NODE,
    "the node got no other certificate of that kind in the last minute",
    ({ kind, nodeName, now, remembered, request }) => {
      const earlier = remembered?.[kind];
      if (earlier === undefined || earlier.request === requestName(request)) return undefined;
      if (now - earlier.at >= RATE_WINDOW_MS) return undefined;
      return `${earlier.request} was approved for ${nodeName} less than a minute ago`;
    },
  ),
  "pool-rate": yielding(
    ALL,
    "the pool got no more approvals in the last minute than it may",
    ({ memory, now, policy, poolName = "", request }) => {
      const own = requestName(request);
      let recent = 0;
      for (const { client, pool, renewal, serving } of memory.values()) {
        if (pool !== poolName) continue;
        for (const approval of [client, renewal, serving]) {
          if (approval !== undefined && approval.request !== own && now - approval.at < RATE_WINDOW_MS) recent += 1;
        }
      }
      if (recent < policy.poolRate) return undefined;
      return `${poolName || "no pool"} got ${recent} approvals in the last minute and may have ${policy.poolRate}`;
    },
  ),
};

/** The sentence about these names; undefined when there are none. */
function listed(names: readonly string[], sentence: (names: string) => string): string | undefined {
  return names.length === 0 ? undefined : sentence(names.join(", "));
}

export function isSameSet(a: readonly string[], b: readonly string[]): boolean {
  return new Set(a).size === new Set(b).size && a.every((one) => b.includes(one));
}

/** Nodes of the pool, and machines that were approved and have not joined yet. */
function occupants({ inventory, memory, nodes, now, poolName }: RequestContext): Set<string> {
  const taken = new Set<string>();
  for (const [name, { client, pool }] of memory) {
    if (pool !== poolName) continue;
    const deadline = inventory.workers.get(name)?.deadline ?? Number.NEGATIVE_INFINITY;
    const isOnItsWay = client !== undefined && now < deadline;
    if (nodes.has(name) || isOnItsWay) taken.add(name);
  }
  for (const { joined, name, pool } of inventory.workers.values()) {
    if (pool === poolName && (nodes.has(name) || joined)) taken.add(name);
  }
  return taken;
}

/** The addresses that a request asks for, in canonical spelling. */
function addressesIn({ facts }: ReadableRequest): string[] {
  return facts.ipAddresses.map((text) => plainAddress(text) ?? text);
}

/** The node itself says which addresses it has, so its word counts only within networks that are for nodes. */
function notOwn({ node, nodeName, policy, worker }: RequestContext, asked: readonly string[]): string | undefined {
  if (node === undefined) return undefined;
  const own = [...addressesOf(node)];
  if (!isSameSet(asked, own))
    return `it asks for ${asked.join(", ")}, and the node has ${own.join(", ") || "no address"}`;
  const networks = [worker?.networks, policy.nodeNetworks].filter((some) => some !== undefined && !some.isEmpty);
  if (networks.length === 0) return `the inventory has no address of ${nodeName}, and no network of nodes is known`;
  const outside = asked.filter((address) => !networks.some((some) => some?.has(address)));
  return listed(outside, (addresses) => `${addresses} is not in ${networks.join(", ")}`);
}

/** The end of a refusal: how an administrator confirms the names of a Worker. Only names that can be pasted are shown. */
function confirming(of: ReadableRequest): string {
  const { facts, nodeName, poolName = "", worker } = of;
  if (worker?.isObject !== true) return "";
  const given = namesGiven(of);
  const ips = addressesIn(of);
  const dnsNames = facts.dnsNames.filter((name) => name !== nodeName);
  const flag = (name: string, values: readonly string[], prefix: string) =>
    values.every((value) => given.includes(prefix + value))
      ? ""
      : ` --${name} ${[...new Set(values)].map((value) => `${nodeName}=${value}`).join(",")}`;
  const flags = flag("ips", ips, "IP:") + flag("dns-names", dnsNames, "DNS:");
  if (flags === "" || !dnsNames.every(isNodeName)) return "";
  const [namespace, pool] = poolName.split("/");
  return `; if it should: drawbridge workers create --namespace ${namespace} --pool ${pool} --names ${nodeName}${flags}`;
}

function addressesOf({ status }: Node): Set<string> {
  const ips = (status?.addresses ?? []).filter(({ type }) => type === "InternalIP" || type === "ExternalIP");
  return new Set(ips.map(({ address }) => plainAddress(address) ?? address));
}
