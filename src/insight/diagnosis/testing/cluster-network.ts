/**
 * Objects of OVN-Kubernetes beside a hosted control plane, as the projects that make them do: cluster-network-operator's
 * bindata/network/{ovn-kubernetes,node-identity}/managed, HyperShift's root-ca, and pods and events as a kubelet that
 * misses a Secret leaves them.
 */
import type { KubeObject } from "../../../cluster/kube/port.js";
import { encoded, type Secret } from "../../../cluster/nodes/objects.js";
import { createAuthority } from "../../../tunnel/pki/issue.js";
import { DAY_MS } from "../../../tunnel/pki/request.js";

const REPLICA_SET = "6f7c9d5b8f";
const managedBy = { "network.operator.openshift.io/cluster-name": "management" };

const secretVolume = (name: string, secretName: string) => ({ name, secret: { defaultMode: 0o640, secretName } });
const rootCaVolume = {
  name: "hosted-ca-cert",
  secret: { defaultMode: 0o640, secretName: "root-ca", items: [{ key: "ca.crt", path: "ca.crt" }] },
};

/** The volumes of the two Deployments, complete. */
const VOLUMES: Readonly<Record<string, readonly object[]>> = {
  "ovnkube-control-plane": [
    { name: "ovnkube-config", configMap: { name: "ovnkube-config" } },
    { name: "konnectivity-proxy-ca", configMap: { name: "konnectivity-ca-bundle" } },
    secretVolume("konnectivity-proxy-cert", "konnectivity-client"),
    { name: "env-overrides", configMap: { name: "env-overrides", optional: true } },
    secretVolume("ovn-control-plane-metrics-cert", "ovn-control-plane-metrics-cert"),
    secretVolume("admin-kubeconfig", "service-network-admin-kubeconfig"),
    { name: "hosted-cluster-api-access", emptyDir: {} },
    rootCaVolume,
  ],
  "network-node-identity": [
    { name: "env-overrides", configMap: { name: "env-overrides", optional: true } },
    secretVolume("admin-kubeconfig", "service-network-admin-kubeconfig"),
    { name: "hosted-cluster-api-access", emptyDir: {} },
    rootCaVolume,
    secretVolume("webhook-cert", "network-node-identity-secret"),
    { name: "ovnkube-identity-cm", configMap: { name: "ovnkube-identity-cm" } },
  ],
};

const CONTAINERS: Readonly<Record<string, { readonly init: string; readonly names: readonly string[] }>> = {
  "ovnkube-control-plane": { init: "init-ip", names: ["token-minter", "ovnkube-control-plane", "socks-proxy"] },
  "network-node-identity": { init: "hosted-cluster-kubecfg-setup", names: ["webhook", "approver", "token-minter"] },
};

export type NetworkDeployment = "ovnkube-control-plane" | "network-node-identity";

function podSpec(name: NetworkDeployment) {
  const { init, names } = CONTAINERS[name]!;
  const container = (one: string) => ({ name: one, image: "registry.example/ovn-kubernetes" });
  return {
    automountServiceAccountToken: false,
    ...{ initContainers: [container(init)], containers: names.map(container), volumes: VOLUMES[name] },
  };
}

function podLabels(name: string, namespace: string) {
  return {
    ...{ app: name, component: "network", type: "infra", "openshift.io/component": "network" },
    "hypershift.openshift.io/control-plane-component": name,
    "hypershift.openshift.io/hosted-control-plane": namespace,
  };
}

export function networkDeployment(name: NetworkDeployment, namespace: string): KubeObject {
  const labels = { "hypershift.openshift.io/hosted-control-plane": namespace };
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace, annotations: managedBy, labels },
    spec: {
      ...{ replicas: 1, selector: { matchLabels: { app: name } } },
      template: { metadata: { labels: podLabels(name, namespace) }, spec: podSpec(name) },
    },
  } as KubeObject;
}

/** `secret`: the annotation by which OpenShift's service-ca makes it. */
export function networkService(name: string, namespace: string, secret?: string): KubeObject {
  const asks = secret === undefined ? {} : { "service.beta.openshift.io/serving-cert-secret-name": secret };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name, namespace, annotations: { ...managedBy, ...asks } },
    spec: { ports: [{ name: "metrics", port: 9108, protocol: "TCP" }], selector: { app: name }, clusterIP: "None" },
  } as KubeObject;
}

/** A pod that waits for a volume, which kubectl shows as `Init:0/1`, without its status. */
export function networkPod(name: NetworkDeployment, namespace: string): KubeObject {
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...{ name: `${name}-${REPLICA_SET}-x2x9k`, namespace },
      labels: { ...podLabels(name, namespace), "pod-template-hash": REPLICA_SET },
    },
    spec: { ...podSpec(name), nodeName: "management-worker-0" },
  } as KubeObject;
}

export function waitingStatus(name: NetworkDeployment) {
  const { init, names } = CONTAINERS[name]!;
  const waiting = (one: string) => ({
    ...{ name: one, image: "registry.example/ovn-kubernetes", imageID: "", ready: false, restartCount: 0 },
    state: { waiting: { reason: "PodInitializing" } },
  });
  return {
    phase: "Pending",
    conditions: [
      { type: "Initialized", status: "False", reason: "ContainersNotInitialized" },
      { type: "Ready", status: "False", reason: "ContainersNotReady" },
      { type: "PodScheduled", status: "True" },
    ],
    initContainerStatuses: [waiting(init)],
    containerStatuses: names.map(waiting),
  };
}

/** The kubelet's. */
export function failedMount(pod: KubeObject, volume: string, secret: string): KubeObject {
  const { name, namespace } = pod.metadata!;
  return {
    apiVersion: "v1",
    kind: "Event",
    metadata: { name: `${name}.17a2b3c4d5e6f708`, namespace },
    involvedObject: { apiVersion: "v1", kind: "Pod", namespace, name },
    ...{ type: "Warning", reason: "FailedMount", count: 14 },
    message: `MountVolume.SetUp failed for volume "${volume}" : secret "${secret}" not found`,
    ...{ firstTimestamp: "2031-01-01T00:00:00Z", lastTimestamp: "2031-01-01T00:20:00Z" },
    source: { component: "kubelet", host: "management-worker-0" },
  } as KubeObject;
}

const opaque = (name: string, namespace: string, data: Readonly<Record<string, string>>): Secret => ({
  apiVersion: "v1",
  kind: "Secret",
  metadata: { name, namespace },
  type: "Opaque",
  data,
});

/** Secrets that HyperShift makes and both Deployments mount. */
export const kubeconfigSecret = (namespace: string): Secret =>
  opaque("service-network-admin-kubeconfig", namespace, { kubeconfig: encoded("apiVersion: v1\nkind: Config\n") });
export const konnectivitySecret = (namespace: string): Secret =>
  opaque("konnectivity-client", namespace, { "tls.crt": encoded("c"), "tls.key": encoded("k") });

/** HyperShift's authority: its certificate and key under two names each, RSA in PKCS #1, ten years. */
export async function rootCaSecret(namespace: string): Promise<Secret> {
  const made = await createAuthority({
    ...{ commonName: "root-ca", organizationalUnits: ["openshift"], key: "rsa2048", keyFormat: "pkcs1" },
    validForMs: 3650 * DAY_MS,
  });
  const [certificate, key] = [encoded(made.certificatePem), encoded(made.privateKeyPem)];
  return opaque("root-ca", namespace, { "ca.crt": certificate, "tls.crt": certificate, "ca.key": key, "tls.key": key });
}

/** cluster-network-operator's, of its OperatorPKI `ovn`; it copies it from the hosted cluster into the control plane's namespace. */
export function ovnCertSecret(namespace: string): Secret {
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: {
      ...{ name: "ovn-cert", namespace },
      annotations: { ...managedBy, "openshift.io/owning-component": "Networking / cluster-network-operator" },
    },
    type: "kubernetes.io/tls",
    data: { "tls.crt": encoded("ovn certificate"), "tls.key": encoded("ovn key") },
  };
}
