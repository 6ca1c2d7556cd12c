/** Everything at once, for commands that look one time and end. */
import type { KubeApi } from "../../../kube/port.js";
import type { NodeObject, Surroundings } from "../case.js";
import { countRecentPending } from "../decide.js";
import type { Memory } from "../memory.js";
import type { Policy } from "../policy.js";
import { REQUESTS_PATH, type SigningRequest } from "../signing-request.js";
import { apiServerAddresses } from "./api-server.js";
import type { InventorySource } from "./inventory-source.js";

export const NODES_PATH = "/api/v1/nodes";

export interface Look {
  readonly requests: readonly SigningRequest[];
  readonly around: Surroundings;
}

export interface LookOptions {
  readonly api: KubeApi;
  readonly policy: Policy;
  readonly inventory: InventorySource;
  readonly memory: Memory;
  readonly now: number;
}

export async function lookAround({ api, inventory, memory, now, policy }: LookOptions): Promise<Look> {
  const [requests, nodes, read, apiServer] = await Promise.all([
    api.list<SigningRequest>(REQUESTS_PATH),
    api.list<NodeObject>(NODES_PATH),
    inventory(),
    apiServerAddresses(api),
  ]);
  const around: Surroundings = {
    now,
    policy,
    inventory: read,
    memory,
    apiServer,
    nodes: new Map(nodes.items.map((node) => [node.metadata?.name ?? "", node])),
    recentPending: countRecentPending(requests.items, now),
  };
  return { requests: requests.items, around };
}
