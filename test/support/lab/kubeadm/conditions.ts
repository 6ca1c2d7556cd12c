import { readFileSync, writeFileSync } from "node:fs";
import { parseAllDocuments, stringify } from "yaml";

interface Configuration {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [key: string]: unknown;
}

/** A machine shared with other work: no cgroup tree of its own, no eviction for the host's full disk. */
const KUBELET: Configuration = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  failCgroupV1: false,
  failSwapOn: false,
  cgroupDriver: "cgroupfs",
  cgroupsPerQOS: false,
  enforceNodeAllocatable: ["none"],
  localStorageCapacityIsolation: false,
  evictionHard: { "memory.available": "0%" },
  imageGCHighThresholdPercent: 100,
};

/** The kernel keeps the limits of connection tracking outside of network namespaces. */
const KUBE_PROXY: Configuration = {
  apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
  kind: "KubeProxyConfiguration",
  mode: "nftables",
  conntrack: {
    ...{ maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    ...{ udpTimeout: "0s", udpStreamTimeout: "0s" },
  },
};

/** Adds to a reader's file for kubeadm what this machine needs, and nothing else. */
export function addConditions(path: string): void {
  // CoreDNS is not among the peers: nothing here asks for names.
  const cluster = { ...readCluster(path), dns: { disabled: true } };
  writeFileSync(path, [cluster, KUBELET, KUBE_PROXY].map((one) => stringify(one)).join("---\n"));
}

/** As a reader does who takes the settings of the kube-apiserver out of the file. */
export function removeApiServerSettings(path: string): void {
  const { apiServer, ...rest } = readCluster(path);
  if (apiServer === undefined) throw new Error(`${path} has no apiServer`);
  writeFileSync(path, stringify(rest));
  addConditions(path);
}

function readCluster(path: string): Configuration {
  const documents = parseAllDocuments(readFileSync(path, "utf8")).map((one) => one.toJS() as Configuration);
  const cluster = documents.find(({ kind }) => kind === "ClusterConfiguration");
  if (cluster === undefined) throw new Error(`${path} has no ClusterConfiguration`);
  return cluster;
}
