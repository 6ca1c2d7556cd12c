/** Rules for a machine's first certificate, which every machine requests with the same credential, and for nodes. */
import {
  isControlPlane,
  type NodeObject,
  namesOf,
  ownerOf,
  RATE_WINDOW_MS,
  RETRY_AFTER_MS,
  type RequestContext,
  SKEW_MS,
} from "../case.js";
import { canonicalAddress, UNUSABLE_NETWORKS } from "../names.js";
import { createdAt, NODE_USER_PREFIX, requestName } from "../signing-request.js";
import type { Rule } from "./shape.js";

const noNames: Rule = {
  id: "client-names",
  demands: "a client certificate is for no DNS name, address or other name",
  yields: false,
  check: ({ facts }) => {
    const names = [...(facts?.dnsNames ?? []), ...(facts?.ipAddresses ?? []), ...(facts?.otherNames ?? [])];
    return names.length === 0 ? undefined : `it asks for the names ${names.join(", ")}`;
  },
};

const bootstrapIdentity: Rule = {
  id: "bootstrap-identity",
  demands: "it was filed with the bootstrap credential, user and groups exactly",
  yields: false,
  check: ({ policy, request }) => {
    const { username = "", groups = [] } = request.spec ?? {};
    if (username !== policy.bootstrapUser)
      return `it was filed by ${username || "nobody"}, not by ${policy.bootstrapUser}`;
    const wanted = new Set(policy.bootstrapGroups);
    const isExact = new Set(groups).size === wanted.size && groups.every((group) => wanted.has(group));
    return isExact ? undefined : `its groups are ${groups.join(", ")}, not ${[...wanted].join(", ")}`;
  },
};

const expected: Rule = {
  id: "expected",
  demands: "the inventory lists a worker of that name",
  yields: true,
  check: ({ nodeName, worker }) => (worker === undefined && nodeName !== "" ? `nobody expects ${nodeName}` : undefined),
};

const window: Rule = {
  id: "window",
  demands: "it was filed between the worker's notBefore and its deadline",
  yields: true,
  check: ({ request, worker }) => {
    if (worker === undefined) return undefined;
    const created = createdAt(request);
    if (created > worker.notBefore - SKEW_MS && created < worker.deadline) return undefined;
    const [from, to] = [worker.notBefore, worker.deadline].map((time) => new Date(time).toISOString());
    return `it was filed at ${request.metadata?.creationTimestamp}, and ${worker.name} is expected from ${from} to ${to}`;
  },
};

const notJoined: Rule = {
  id: "not-joined",
  demands: "the worker has not joined before",
  yields: true,
  check: ({ nodeName, remembered, worker }) =>
    remembered?.joinedAt !== undefined || worker?.joined
      ? `${nodeName} has joined already; a machine that replaces it needs a name of its own`
      : undefined,
};

const nodeAbsent: Rule = {
  id: "node-absent",
  demands: "no node has that name",
  yields: true,
  check: ({ node, nodeName }) => (node === undefined ? undefined : `there is a node ${nodeName}`),
};

const single: Rule = {
  id: "single-client",
  demands: "no other first certificate was approved for the worker in the last quarter of an hour",
  yields: true,
  check: ({ nodeName, now, remembered, request }) => {
    const earlier = remembered?.client;
    if (earlier === undefined || earlier.request === requestName(request)) return undefined;
    if (now - earlier.at > RETRY_AFTER_MS) return undefined;
    return `${earlier.request} was approved for ${nodeName} at ${new Date(earlier.at).toISOString()}`;
  },
};

const claimed: Rule = {
  id: "claim",
  demands: "a machine of the pool fetched its configuration, if that is asked for",
  yields: true,
  check: (of) => (!of.policy.needsClaim || of.worker === undefined || hasClaim(of) ? undefined : noClaim(of)),
};

/** A claim that names a worker speaks for that worker only. */
function hasClaim({ claims, nodeName, now, worker }: RequestContext): boolean {
  return claims.some(
    (claim) =>
      (claim.worker === undefined || claim.worker === nodeName) &&
      claim.at > worker!.notBefore - SKEW_MS &&
      claim.at <= now + SKEW_MS,
  );
}

function noClaim({ nodeName, poolName }: RequestContext): string {
  return `nobody was seen fetching the configuration of ${poolName} for ${nodeName}`;
}

const poolSize: Rule = {
  id: "pool-size",
  demands: "the pool has room: its replicas and the surge",
  yields: true,
  check: (of) => {
    if (of.pool === undefined) return undefined;
    const most = (of.pool.replicas ?? of.pool.workers) + of.policy.surge;
    const taken = occupants(of);
    taken.delete(of.nodeName);
    if (taken.size < most) return undefined;
    return `${of.poolName} may have ${most} nodes and has ${taken.size}, counting those that are on their way`;
  },
};

const poolRate: Rule = {
  id: "pool-rate",
  demands: "the pool got no more approvals in the last minute than it may",
  yields: true,
  check: ({ memory, now, policy, poolName = "", request }) => {
    const approvals = [...memory.values()]
      .filter(({ pool }) => pool === poolName)
      .flatMap(({ client, serving, renewal }) => [client, serving, renewal])
      .filter((approval) => approval !== undefined && approval.request !== requestName(request));
    const recent = approvals.filter((approval) => now - approval!.at < RATE_WINDOW_MS).length;
    if (recent < policy.poolRate) return undefined;
    return `${poolName || "no pool"} got ${recent} approvals in the last minute and may have ${policy.poolRate}`;
  },
};

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

// Rules for requests that a node makes itself: for its serving certificate and its next client certificate.

const identity: Rule = {
  id: "node-identity",
  demands: "the node it names filed it itself",
  yields: false,
  check: ({ nodeName, request }) => {
    if (nodeName === "") return undefined;
    const { username = "", groups = [] } = request.spec ?? {};
    const name = NODE_USER_PREFIX + nodeName;
    if (username !== name) return { why: `${username || "nobody"} asks for a certificate of ${name}`, forgery: true };
    const missing = ["system:nodes", "system:authenticated"].filter((group) => !groups.includes(group));
    return missing.length === 0 ? undefined : `${username} is not in ${missing.join(", ")}`;
  },
};

const known: Rule = {
  id: "known-node",
  demands: "the approver approved the node, or the inventory says that it has joined",
  yields: true,
  check: ({ nodeName, remembered, worker }) =>
    nodeName === "" || remembered?.client !== undefined || remembered?.joinedAt !== undefined || worker?.joined
      ? undefined
      : `${nodeName} was not approved by this approver`,
};

const present: Rule = {
  id: "node-present",
  demands: "the node exists",
  yields: true,
  check: ({ node, nodeName }) => (node === undefined && nodeName !== "" ? `there is no node ${nodeName}` : undefined),
};

const someNames: Rule = {
  id: "serving-names",
  demands: "it asks for DNS names and addresses only, and for at least one",
  yields: false,
  check: ({ facts }) => {
    if (facts === undefined) return undefined;
    if (facts.otherNames.length > 0) return `it asks for ${facts.otherNames.join(", ")}`;
    return facts.dnsNames.length + facts.ipAddresses.length === 0 ? "it asks for no name at all" : undefined;
  },
};

const owner: Rule = {
  id: "serving-owner",
  demands: "no name or address belongs to another worker, another Node or a certificate that was approved for another",
  yields: true,
  check: (of) => {
    if (of.facts === undefined || of.nodeName === "") return undefined;
    const taken = namesOf(of.facts).flatMap((name) => {
      const whose = ownerOf(name, of);
      return whose === undefined ? [] : [`${name.slice(name.indexOf(":") + 1)} belongs to ${whose}`];
    });
    return taken.length === 0 ? undefined : taken.join("; ");
  },
};

const dnsNames: Rule = {
  id: "serving-dns",
  demands: "every DNS name is the node's own or in the inventory",
  yields: true,
  check: ({ facts, nodeName, remembered, worker }) => {
    // The names of a node whose entry was cleared are compared as a whole.
    if (worker === undefined && remembered?.serving !== undefined) return undefined;
    const allowed = [nodeName, ...(worker?.dnsNames ?? [])];
    const extra = (facts?.dnsNames ?? []).filter((name) => !allowed.includes(name));
    return extra.length === 0 ? undefined : `${extra.join(", ")} is not a name of ${nodeName}`;
  },
};

const addresses: Rule = {
  id: "serving-ips",
  demands: "every address is in the inventory, or all are the node's own and in a network of nodes",
  yields: true,
  check: (of) => {
    const { facts, nodeName, remembered, worker } = of;
    if (facts === undefined || (worker === undefined && remembered?.serving !== undefined)) return undefined;
    const asked = facts.ipAddresses.map((text) => canonicalAddress(text) ?? text);
    if (worker !== undefined && worker.ips.length > 0) {
      const extra = asked.filter((address) => !worker.ips.includes(address));
      return extra.length === 0 ? undefined : `${extra.join(", ")} is not an address of ${nodeName} in the inventory`;
    }
    return asked.length === 0 ? undefined : ownAddresses(of, asked);
  },
};

/** The node itself says which addresses it has, so its word counts only within networks that are for nodes. */
function ownAddresses({ node, nodeName, policy }: RequestContext, asked: readonly string[]): string | undefined {
  if (node === undefined) return undefined;
  const own = addressesOf(node);
  const isSame = new Set(asked).size === own.size && asked.every((address) => own.has(address));
  if (!isSame) return `it asks for ${asked.join(", ")}, and the node has ${[...own].join(", ") || "no address"}`;
  if (policy.nodeNetworks.isEmpty)
    return `the inventory has no address of ${nodeName}, and no network of nodes is known`;
  const outside = asked.filter((address) => !policy.nodeNetworks.has(address));
  return outside.length === 0 ? undefined : `${outside.join(", ")} is not in ${policy.nodeNetworks}`;
}

function addressesOf({ status }: NodeObject): Set<string> {
  const ips = (status?.addresses ?? []).filter(({ type }) => type === "InternalIP" || type === "ExternalIP");
  return new Set(ips.map(({ address }) => canonicalAddress(address) ?? address));
}

const foreignAddresses: Rule = {
  id: "serving-ip-foreign",
  demands: "no address is a loopback, link-local, service, pod or control-plane address",
  yields: false,
  check: ({ apiServer, facts, node, policy, worker }) => {
    const asked = (facts?.ipAddresses ?? []).map((text) => canonicalAddress(text) ?? text);
    // A machine of the control plane shares its address with the API server that runs on it.
    const mayShare = (address: string) => node && isControlPlane(node) && worker?.ips.includes(address);
    const shared = asked.filter((address) => apiServer.has(address) && !mayShare(address));
    if (shared.length > 0) return `${shared.join(", ")} is the API server's`;
    const foreign = asked.filter((address) => UNUSABLE_NETWORKS.has(address) || policy.foreignNetworks.has(address));
    return foreign.length === 0 ? undefined : `${foreign.join(", ")} can be no node's own`;
  },
};

const sameNames: Rule = {
  id: "serving-same",
  demands: "a renewed certificate is for the same names as before",
  yields: true,
  check: ({ facts, nodeName, remembered }) => {
    const before = remembered?.serving?.names;
    if (facts === undefined || before === undefined) return undefined;
    const asked = namesOf(facts);
    if (asked.join() === before.join()) return undefined;
    return `${nodeName} had ${before.join(", ")} and now asks for ${asked.join(", ")}`;
  },
};

const pace: Rule = {
  id: "node-pace",
  demands: "the node got no other certificate of that kind in the last minute",
  yields: true,
  check: ({ kind, nodeName, now, remembered, request }) => {
    const earlier = kind === "serving" ? remembered?.serving : remembered?.renewal;
    if (earlier === undefined || earlier.request === requestName(request)) return undefined;
    if (now - earlier.at >= RATE_WINDOW_MS) return undefined;
    return `${earlier.request} was approved for ${nodeName} less than a minute ago`;
  },
};

export const clientRules: readonly Rule[] = [
  noNames,
  bootstrapIdentity,
  expected,
  window,
  notJoined,
  nodeAbsent,
  single,
  claimed,
  poolSize,
  poolRate,
];

export const renewalRules: readonly Rule[] = [noNames, identity, known, present, pace, poolRate];

export const servingRules: readonly Rule[] = [
  identity,
  known,
  present,
  someNames,
  owner,
  dnsNames,
  addresses,
  foreignAddresses,
  sameNames,
  pace,
  poolRate,
];
