import type { KubeApi } from "../../src/cluster/kube/port.js";
import { lacks } from "../../test/support/lab/lacks.js";

/** Where requests and Nodes are, and who signs. */
export interface Cluster {
  readonly description: string;
  /** Of its API server; undefined for a stand-in. */
  readonly version: string | undefined;
  /** Who makes certificates of approved requests. */
  readonly signer: string;
  /** Of the API server, with the certificate of its authority. */
  readonly url: string;
  readonly ca: string;
  /** The machines' common token. */
  readonly token: string;
  /** As an administrator sees it. */
  readonly api: KubeApi;
  /** How a part of drawbridge gets in: with the rights of its account, or as an administrator. */
  flags(account?: string): string[];
  close(): Promise<void>;
}

/** Why there can be no real cluster here, in one sentence. */
export function lackOfCluster(): string | undefined {
  return lacks({
    peers: ["etcd", "kube-apiserver", "kubectl", "kube-controller-manager"],
    tools: ["setpriv", "openssl", "curl"],
    files: [],
  });
}
