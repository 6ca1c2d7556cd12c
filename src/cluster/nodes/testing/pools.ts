/** A healthy pool and cluster, for tests to break in one place. */
import { FINALIZER, type Secret } from "../objects.js";
import type { PassInput, PoolCluster } from "../pool/input.js";
import { NODE_POOL_VERSION, type NodePool, type NodePoolSpec, type NodePoolStatus } from "../pool/node-pool.js";
import type { ReconcileResult } from "../pool/reconcile.js";

export const startTime = Date.parse("2031-01-01T00:00:00Z");

export const spec: NodePoolSpec = {
  clusterName: "demo",
  release: { image: "registry.example/release:4.18.0" },
  platform: { type: "None" },
  replicas: 3,
  management: { upgradeType: "InPlace" },
};

export const owner = { apiVersion: NODE_POOL_VERSION, kind: "HostedCluster", uid: "cluster-uid" };

export const pool: NodePool = {
  apiVersion: NODE_POOL_VERSION,
  kind: "NodePool",
  metadata: {
    name: "workers",
    namespace: "clusters",
    resourceVersion: "7",
    generation: 2,
    finalizers: [FINALIZER],
    ownerReferences: [{ ...owner, name: "demo" }],
  },
  spec,
};

export const cluster: PoolCluster = {
  name: { namespace: "clusters", name: "demo" },
  owner,
  deleting: false,
  controlPlaneNamespace: "clusters-demo",
  kubeconfigReady: true,
  ignitionEndpoint: "ignition.example",
  ignitionCaPem: "PEM\n",
  pullSecret: { name: "pull-secret", content: Buffer.from("{}") },
  trustBundle: undefined,
  configuration: undefined,
  networks: undefined,
};

export function makeInput(change: Partial<PassInput> = {}): PassInput {
  let tokens = 0;
  return {
    pool,
    cluster,
    release: { version: "4.18.0", arch: "multi" },
    configs: [],
    secrets: [],
    ownedConfigMaps: [],
    newToken: () => `token-${++tokens}`,
    ...change,
  };
}

export function poolWith(change: Partial<NodePoolSpec>, more: Partial<NodePool> = {}): NodePool {
  return { ...pool, ...more, spec: { ...spec, ...change } };
}

/** The input after a controller did what a pass decided. */
export function afterWrites(input: PassInput, { conditions, version, writes }: ReconcileResult): PassInput {
  let { pool, secrets } = input;
  for (const { verb, object } of writes) {
    const others = secrets.filter(({ metadata }) => metadata?.name !== object.metadata?.name);
    if (object.kind === "NodePool") pool = object as NodePool;
    else if (verb === "delete") secrets = others;
    else secrets = [...others, { ...object, metadata: { resourceVersion: "50", ...object.metadata } } as Secret];
  }
  const status: NodePoolStatus = { conditions, ...(version === undefined ? {} : { version }) };
  return { ...input, pool: { ...pool, status }, secrets };
}
