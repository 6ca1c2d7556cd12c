/** A machine's first certificate. The credential it asks with is every machine's, so the name alone must be right. */
import type { Case } from "../case.js";
import { PATIENCE_MS, SKEW_MS } from "../policy.js";
import { createdAt, requestName } from "../signing-request.js";
import { poolRate, poolSize } from "./limits.js";
import type { Rule } from "./rule.js";

export const noNames: Rule = {
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
    if (now - earlier.at > PATIENCE_MS) return undefined;
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
function hasClaim({ claims, nodeName, now, worker }: Case): boolean {
  return claims.some(
    (claim) =>
      (claim.worker === undefined || claim.worker === nodeName) &&
      claim.at > worker!.notBefore - SKEW_MS &&
      claim.at <= now + SKEW_MS,
  );
}

function noClaim({ nodeName, poolName }: Case): string {
  return `nobody was seen fetching the configuration of ${poolName} for ${nodeName}`;
}

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
