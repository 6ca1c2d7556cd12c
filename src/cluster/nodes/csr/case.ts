/** One request together with everything its rules look at. */
import { messageOf } from "../../../base/errors/error.js";
import { inspectRequest, type RequestFacts } from "../../../tunnel/pki/inspect-request.js";
import type { KubeObject } from "../../kube/port.js";
import { spelled } from "./held.js";
import type { Claim, Inventory, Pool, Worker } from "./inventory.js";
import type { Memory, Remembered } from "./memory.js";
import type { Policy } from "./policy.js";
import { NODE_USER_PREFIX, type RequestKind, requestPem, type SigningRequest } from "./signing-request.js";

export interface NodeObject extends KubeObject {
  readonly status?: { readonly addresses?: readonly { readonly type: string; readonly address: string }[] };
}

/** The cluster and its machines at the moment of a decision. */
export interface Surroundings {
  readonly now: number;
  readonly policy: Policy;
  readonly inventory: Inventory;
  readonly memory: Memory;
  /** By name. */
  readonly nodes: ReadonlyMap<string, NodeObject>;
  /** At which the API server is reached, in canonical spelling. */
  readonly apiServer: ReadonlySet<string>;
  /** Undecided requests of nodes that are younger than an hour. */
  readonly recentPending: number;
}

export interface Case extends Surroundings {
  readonly request: SigningRequest;
  readonly kind: RequestKind;
  /** Undefined when the request cannot be read. */
  readonly facts: RequestFacts | undefined;
  readonly unreadable: string;
  /** The part behind `system:node:`; empty when there is none. */
  readonly nodeName: string;
  readonly worker: Worker | undefined;
  readonly node: NodeObject | undefined;
  readonly remembered: Remembered | undefined;
  readonly poolName: string | undefined;
  readonly pool: Pool | undefined;
  readonly claims: readonly Claim[];
}

export function openCase(request: SigningRequest, kind: RequestKind, around: Surroundings): Case {
  let facts: RequestFacts | undefined;
  let unreadable = "";
  try {
    facts = inspectRequest(requestPem(request));
  } catch (reason) {
    unreadable = messageOf(reason);
  }
  const [commonName = ""] = facts?.commonNames ?? [];
  const nodeName = commonName.startsWith(NODE_USER_PREFIX) ? commonName.slice(NODE_USER_PREFIX.length) : "";
  const worker = around.inventory.workers.get(nodeName);
  const remembered = around.memory.get(nodeName);
  const poolName = worker?.pool ?? (remembered?.pool || undefined);
  return {
    ...around,
    request,
    kind,
    facts,
    unreadable,
    nodeName,
    worker,
    node: around.nodes.get(nodeName),
    remembered,
    poolName,
    pool: poolName === undefined ? undefined : around.inventory.pools.get(poolName),
    claims: around.inventory.claims.filter(({ pool }) => pool === poolName),
  };
}

/** `DNS:w0`, `IP:10.0.0.1`, sorted, each once. */
export function namesOf({ dnsNames, ipAddresses, otherNames }: RequestFacts): string[] {
  return spelled([
    ...dnsNames.map((name) => `DNS:${name}`),
    ...ipAddresses.map((address) => `IP:${address}`),
    ...otherNames,
  ]);
}
