import { readFileSync, writeFileSync } from "node:fs";
import { parseAllDocuments, stringify } from "yaml";
import { SHARED_MACHINE } from "../node/configuration.js";

interface Configuration {
  readonly apiVersion: string;
  readonly kind: string;
  readonly [key: string]: unknown;
}

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
  writeFileSync(path, [cluster, SHARED_MACHINE, KUBE_PROXY].map((one) => stringify(one)).join("---\n"));
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
