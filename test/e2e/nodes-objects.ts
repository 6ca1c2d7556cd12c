/** What somebody without HyperShift puts into a cluster so that machines can become its nodes, see docs/nodes.md. */
import { stringify } from "yaml";
import type { KubeObject } from "../../src/cluster/kube/port.js";
import { defaultPolicy } from "../../src/cluster/nodes/csr/request-context.js";
import { type ConfigMap, encoded, type Secret } from "../../src/cluster/nodes/objects.js";
import { MACHINES_ANNOTATION, type NodePool } from "../../src/cluster/nodes/pool/node-pool.js";

export const NAMESPACE = "drawbridge";
const CLUSTER = "demo";
/** On every machine of the pool, with what its configuration says last. */
export const MARK = "/etc/story";
export const POOL = "workers";
const VERSION = "4.18.0";

const [, , machines, account] = defaultPolicy.bootstrapUser.split(":") as [string, string, string, string];

/** Every machine's first identity, which may ask for certificates and nothing else. */
export const bootstrapper = { namespace: machines, name: account } as const;

export const bootstrapAccess: readonly KubeObject[] = [
  { apiVersion: "v1", kind: "Namespace", metadata: { name: machines } },
  { apiVersion: "v1", kind: "ServiceAccount", metadata: { name: account, namespace: machines } },
  {
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind: "ClusterRoleBinding",
    metadata: { name: "create-csrs-for-bootstrapping" },
    roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "system:node-bootstrapper" },
    subjects: [{ kind: "ServiceAccount", name: account, namespace: machines }],
  } as KubeObject,
];

export interface ClusterFacts {
  readonly apiServer: string;
  readonly apiServerCA: string;
  /** `host:port`. */
  readonly ignitionEndpoint: string;
  /** Without it, the authority of the certificate that our controller issues. */
  readonly ignitionCA?: string;
  /** Of the bootstrapper; undefined: our controller makes the kubeconfig that machines join with. */
  readonly token?: string;
}

/** The cluster, its pool, and what payloads are made of. */
export function poolObjects(facts: ClusterFacts): KubeObject[] {
  const { token: _, ...published } = facts;
  const cluster: ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: CLUSTER, namespace: NAMESPACE, labels: { "drawbridge/cluster": "true" } },
    data: { ...published, version: VERSION, pullSecret: "pull-secret" },
  };
  const own = facts.token === undefined ? [] : [bootstrapKubeconfig(facts, facts.token)];
  return [cluster, ...poolAndConfig(POOL, "first"), secret("pull-secret", ".dockerconfigjson", "{}"), ...own];
}

/** A pool, and its own part of the payload. */
export function poolAndConfig(name: string, word: string): KubeObject[] {
  return [poolOf(name), poolConfig(name, word)];
}

/** The pool's own part of the payload: a file with a word. */
export function poolConfig(pool: string, word: string): ConfigMap {
  const config = {
    ignition: { version: "3.2.0" },
    storage: { files: [{ path: MARK, mode: 0o644, contents: { source: `data:,${word}` } }] },
  };
  const document = {
    apiVersion: "machineconfiguration.openshift.io/v1",
    kind: "MachineConfig",
    metadata: { name: "story" },
    spec: { config },
  };
  return {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `${pool}-config`, namespace: NAMESPACE },
    data: { config: stringify(document) },
  };
}

const poolOf = (name: string): NodePool => ({
  apiVersion: "hypershift.openshift.io/v1beta1",
  kind: "NodePool",
  metadata: { name, namespace: NAMESPACE, annotations: name === POOL ? { [MACHINES_ANNOTATION]: "command" } : {} },
  spec: {
    clusterName: CLUSTER,
    release: { image: `registry.example/release:${VERSION}` },
    platform: { type: "None" },
    management: { upgradeType: "Replace", autoRepair: true },
    config: [{ name: `${name}-config` }],
    replicas: 2,
  },
});

function bootstrapKubeconfig({ apiServer, apiServerCA }: ClusterFacts, token: string): Secret {
  const cluster = { server: apiServer, "certificate-authority-data": encoded(apiServerCA) };
  const kubeconfig = {
    ...{ apiVersion: "v1", kind: "Config", "current-context": CLUSTER },
    clusters: [{ name: CLUSTER, cluster }],
    users: [{ name: account, user: { token } }],
    contexts: [{ name: CLUSTER, context: { cluster: CLUSTER, user: account } }],
  };
  return secret("bootstrap-kubeconfig", "kubeconfig", stringify(kubeconfig));
}

function secret(name: string, key: string, text: string): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name, namespace: NAMESPACE },
    type: "Opaque",
    data: { [key]: encoded(text) },
  };
}
