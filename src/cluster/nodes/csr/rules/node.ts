/** What a node asks for itself: its serving certificate, and the next client certificate. */
import { canonicalAddress, nobodysNetworks } from "../addresses.js";
import { isControlPlane, ownerOf } from "../belonging.js";
import { type Case, type NodeObject, namesOf } from "../case.js";
import { RATE_WINDOW_MS } from "../policy.js";
import { NODE_USER_PREFIX, requestName } from "../signing-request.js";
import { noNames } from "./client.js";
import { poolRate } from "./limits.js";
import type { Rule } from "./rule.js";

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
  demands: "the approver let the node in, or the inventory says that it has joined",
  yields: true,
  check: ({ nodeName, remembered, worker }) =>
    nodeName === "" || remembered?.client !== undefined || remembered?.joinedAt !== undefined || worker?.joined
      ? undefined
      : `${nodeName} was not let in by this approver`,
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
function ownAddresses({ node, nodeName, policy }: Case, asked: readonly string[]): string | undefined {
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
    const foreign = asked.filter((address) => nobodysNetworks.has(address) || policy.foreignNetworks.has(address));
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
