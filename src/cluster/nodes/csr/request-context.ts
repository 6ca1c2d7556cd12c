/** A certificate signing request together with everything that its rules look at. */
import { messageOf } from "../../../base/errors/error.js";
import { inspectRequest, type RequestFacts } from "../../../tunnel/pki/inspect-request.js";
import type { Node } from "../objects.js";
import type { ExpectedWorker, Inventory } from "./inventory.js";
import { canonicalNames, heldNamesOf, isInForce, type Memory } from "./memory.js";
import { Networks, plainAddress } from "./names.js";
import { nodeNameOf, type RequestKind, requestPem, type SigningRequest } from "./signing-request.js";

/** The cluster and its machines at the moment of a decision. */
export interface ClusterState {
  readonly now: number;
  readonly policy: ApprovalPolicy;
  readonly inventory: Inventory;
  readonly memory: Memory;
  /** Nodes by name. */
  readonly nodes: ReadonlyMap<string, Node>;
  /** Addresses of the API server in canonical spelling. */
  readonly apiServer: ReadonlySet<string>;
  /** Undecided requests of nodes that are younger than an hour. */
  readonly recentPending: number;
}

export type RequestContext = ReturnType<typeof requestContext>;
export type ReadableRequest = RequestContext & { readonly facts: RequestFacts };

export function requestContext(request: SigningRequest, kind: RequestKind, state: ClusterState) {
  const { facts, unreadable } = factsOf(request);
  const nodeName = nodeNameOf(facts?.commonNames[0]);
  const worker = state.inventory.workers.get(nodeName);
  const remembered = state.memory.get(nodeName);
  const poolName = worker?.pool ?? (remembered?.pool || undefined);
  return {
    ...{ ...state, request, kind, facts, unreadable, nodeName, worker, remembered, poolName },
    node: state.nodes.get(nodeName),
    pool: poolName === undefined ? undefined : state.inventory.pools.get(poolName),
    claims: state.inventory.claims.filter(({ pool }) => pool === poolName),
  };
}

/** The content of the request; undefined, with the reason, when it cannot be read. */
function factsOf(request: SigningRequest): { facts: RequestFacts | undefined; unreadable: string } {
  try {
    return { facts: inspectRequest(requestPem(request)), unreadable: "" };
  } catch (reason) {
    return { facts: undefined, unreadable: messageOf(reason) };
  }
}

/** `DNS:w0`, `IP:10.0.0.1`, sorted, each once. */
export function namesOf({ dnsNames, ipAddresses, otherNames }: RequestFacts): string[] {
  return canonicalNames([
    ...dnsNames.map((name) => `DNS:${name}`),
    ...ipAddresses.map((address) => `IP:${address}`),
    ...otherNames,
  ]);
}

/** The settings of an approver. */
export interface ApprovalPolicy {
  /** The user that files first requests: the identity in every machine's bootstrap kubeconfig. */
  readonly bootstrapUser: string;
  /** All of its groups, no more and no fewer. */
  readonly bootstrapGroups: readonly string[];
  /** Networks in which nodes may have addresses that no inventory lists. */
  readonly nodeNetworks: Networks;
  /** Services, pods, control plane: never a node's. */
  readonly foreignNetworks: Networks;
  /** Names of the control plane beyond the usual ones. */
  readonly reservedNames: readonly string[];
  /** Whether a machine must have been seen fetching its configuration. */
  readonly needsClaim: boolean;
  /** Nodes beyond a pool's replicas, while some are replaced. */
  readonly surge: number;
  /** Approvals in a minute and pool. */
  readonly poolRate: number;
  /** Whether forgeries are denied; otherwise they stay pending like everything else. */
  readonly deniesForgery: boolean;
}

/** The ServiceAccount of machines that have no certificate yet, as OpenShift calls it. */
export const BOOTSTRAPPER = { namespace: "openshift-machine-config-operator", name: "node-bootstrapper" } as const;

export const defaultPolicy: ApprovalPolicy = {
  bootstrapUser: `system:serviceaccount:${BOOTSTRAPPER.namespace}:${BOOTSTRAPPER.name}`,
  bootstrapGroups: [
    `system:serviceaccounts:${BOOTSTRAPPER.namespace}`,
    "system:serviceaccounts",
    "system:authenticated",
  ],
  nodeNetworks: new Networks([]),
  foreignNetworks: new Networks([]),
  reservedNames: [],
  needsClaim: false,
  surge: 0,
  poolRate: 100,
  deniesForgery: true,
};

/** A clock may run this far ahead of another. */
export const SKEW_MS = 10_000;
/** A kubelet that got no certificate for so long files another request with another key. */
export const RETRY_AFTER_MS = 15 * 60_000;
export const RATE_WINDOW_MS = 60_000;
/** The brake counts requests as young as this; that many more than there are machines is a flood. */
export const BRAKE_WINDOW_MS = 60 * 60_000;
export const BRAKE_MARGIN = 100;

/**
 * Who else has the name, for the end of a sentence; undefined when nobody has. `name` is `DNS:w0` or `IP:10.0.0.1`.
 *
 * The operator wrote the inventory, and the approver approved the certificates. A node reports its own addresses: that
 * keeps others from getting a free address, and takes away none that is given.
 */
export function ownerOf(name: string, of: RequestContext): string | undefined {
  return ownerByInventory(name, of) ?? ownerByCertificate(name, of) ?? ownerByReport(name, of);
}

function ownerByInventory(name: string, { inventory, nodeName }: RequestContext): string | undefined {
  const all = holdersIn(inventory.workers, (_, worker) => namesOfWorker(worker)).get(name) ?? [];
  const other = all.find((holder) => holder !== nodeName);
  return other === undefined ? undefined : `${other}, by the inventory`;
}

const holders = new WeakMap<ReadonlyMap<string, unknown>, ReadonlyMap<string, readonly string[]>>();

/** Who has which names, in the order of the map; made once for each map, not for each of thousands of requests. */
function holdersIn<T>(all: ReadonlyMap<string, T>, namesOf: (key: string, one: T) => readonly string[]) {
  const known = holders.get(all);
  if (known !== undefined) return known;
  const made = new Map<string, string[]>();
  for (const [key, one] of all) {
    for (const name of namesOf(key, one)) {
      const others = made.get(name);
      if (others === undefined) made.set(name, [key]);
      else others.push(key);
    }
  }
  holders.set(all, made);
  return made;
}

/** Certificates of a worker that is neither expected nor a node do not count: its machine is gone. */
function ownerByCertificate(name: string, { inventory, memory, nodeName, nodes, now }: RequestContext) {
  for (const [other, remembered] of memory) {
    if (other === nodeName || !(inventory.workers.has(other) || nodes.has(other))) continue;
    const held = heldNamesOf(remembered).find((one) => one.names.includes(name) && isInForce(one, now));
    if (held === undefined) continue;
    const isEndKnown = held.request === undefined && held.lost === undefined;
    return `${other}, by its certificate${isEndKnown ? ` until ${new Date(held.until).toISOString()}` : ""}`;
  }
  return undefined;
}

function ownerByReport(name: string, { nodeName, nodes, remembered, worker }: RequestContext): string | undefined {
  const isGiven = namesGiven({ nodeName, worker }).includes(name) || remembered?.serving?.names.includes(name) === true;
  for (const other of holdersIn(nodes, namesOfNode).get(name) ?? []) {
    const node = nodes.get(other);
    if (other === nodeName || node === undefined) continue;
    if (isControlPlane(node)) return `${other} of the control plane, by its Node's addresses`;
    if (!isGiven) return `${other}, by its Node's addresses`;
  }
  return undefined;
}

/** The node's own name, and what the inventory gives to it. */
export function namesGiven({ nodeName, worker }: Pick<RequestContext, "nodeName" | "worker">): string[] {
  return [`DNS:${nodeName}`, ...(worker === undefined ? [] : namesOfWorker(worker))];
}

function namesOfWorker({ dnsNames, ips, name }: ExpectedWorker): string[] {
  return [...[name, ...dnsNames].map((one) => `DNS:${one}`), ...ips.map((one) => `IP:${one}`)];
}

function namesOfNode(name: string, { status }: Node): string[] {
  const reported = (status?.addresses ?? []).map(({ address }) => {
    const ip = plainAddress(address);
    return ip === undefined ? `DNS:${address.toLowerCase().replace(/\.$/, "")}` : `IP:${ip}`;
  });
  return [`DNS:${name}`, ...reported];
}

/** Nodes cannot give themselves these labels. */
export function isControlPlane({ metadata }: Node): boolean {
  return ["control-plane", "master"].some((role) => `node-role.kubernetes.io/${role}` in (metadata?.labels ?? {}));
}
