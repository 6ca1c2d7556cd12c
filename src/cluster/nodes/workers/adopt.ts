/** Makes workers of nodes that are there already. */

import type { KubeApi } from "../../kube/port.js";
import { isNodeName, plainAddress } from "../csr/names.js";
import type { Node } from "../objects.js";
import { NO_SHAPE } from "../providers/settings.js";
import { hashOfNode } from "./node.js";
import { listNodes } from "./status.js";
import type { WorkerStore } from "./store.js";
import { type Worker, workersError } from "./worker.js";

interface Adoption {
  readonly api: KubeApi;
  readonly store: WorkerStore;
  /** `namespace/name`. */
  readonly pool: string;
  readonly dryRun: boolean;
}

/** Nodes that are workers of the pool already stay as they are and are left out. */
export async function adoptNodes({ api, dryRun, pool, store }: Adoption, names: readonly string[]): Promise<Worker[]> {
  const [nodes, workers] = [await listNodes(api), await store.read()];
  const known = new Map(workers.map((worker) => [worker.name, worker]));
  const missing = names.find((name) => !nodes.has(name));
  if (missing !== undefined) throw workersError(`there is no node ${missing}`);
  const other = names.find((name) => known.has(name) && known.get(name)?.pool !== pool);
  if (other !== undefined) throw workersError(`${other} is a worker of ${known.get(other)?.pool} already`);
  const adopted = names.filter((name) => !known.has(name)).map((name) => adoptedWorker(name, nodes.get(name)!, pool));
  if (dryRun) return adopted;
  const isGone = ({ name }: Worker) => store.removedAt(name) !== undefined;
  const revived = adopted.filter(isGone);
  await store.create(adopted.filter((worker) => !isGone(worker)));
  for (const worker of revived) await store.revive(worker);
  return adopted;
}

function adoptedWorker(name: string, node: Node, pool: string): Worker {
  const reported = (node.status?.addresses ?? []).map(({ address }) => address);
  const ips = reported.flatMap((address) => plainAddress(address) ?? []);
  const dnsNames = reported.filter((address) => address !== name && plainAddress(address) === undefined);
  const wrong = dnsNames.find((dnsName) => !isNodeName(dnsName));
  if (wrong !== undefined) throw workersError(`node ${name} reports the name "${wrong}", which is no DNS name`);
  const now = Date.now();
  return {
    ...{ name, pool, zone: node.metadata?.labels?.["topology.kubernetes.io/zone"] ?? "", provider: "none" },
    ...{ shape: NO_SHAPE, hash: hashOfNode(node) ?? "", made: true, ownToken: false, joined: true },
    ...{ ips: [...new Set(ips)], dnsNames: [...new Set(dnsNames)], createCommand: [], deleteCommand: [] },
    // Its first certificate was issued long ago.
    ...{ notBefore: new Date(now - 1000).toISOString(), deadline: new Date(now).toISOString() },
  };
}
