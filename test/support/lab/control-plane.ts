import { Authority, type Pair, signingKey } from "./certificates.js";
import { startEtcd } from "./etcd.js";
import { KubeApiServer } from "./kube-apiserver.js";
import { type ApiAccess, Kubectl, writeKubeconfig } from "./kubectl.js";
import { freePort } from "./ports.js";
import type { Scope } from "./scope.js";

export interface ControlPlaneOptions {
  readonly executables: { readonly etcd: string; readonly kubeApiServer: string; readonly kubectl: string };
  /** Both absent: everything on loopback, for tests and demonstrations that need no network of their own. */
  readonly netns?: string;
  readonly host?: string;
  readonly admitServiceAccounts?: boolean;
}

/** etcd and a kube-apiserver (not yet started: its egress configuration is the caller's business). */
export interface ControlPlane {
  readonly ca: Authority;
  readonly api: ApiAccess;
  readonly apiServer: KubeApiServer;
  readonly admin: Kubectl;
  readonly serviceAccounts: { readonly privateKey: string; readonly publicKey: string };
  /** A kubeconfig for a user (and group) the cluster's certificate authority vouches for. */
  kubeconfig(user: string, group?: string): string;
}

const ADMINISTRATORS = "system:masters";

export async function makeControlPlane(scope: Scope, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { executables, netns } = options;
  const host = options.host ?? "127.0.0.1";
  const port = netns === undefined ? await freePort() : 6443;
  const ca = new Authority(scope.folder, "cluster-ca");
  const frontProxyCa = new Authority(scope.folder, "front-proxy-ca");
  const serviceAccounts = signingKey(scope.folder);
  const pairs = issuePairs(ca, frontProxyCa, host);
  const etcd = await startEtcd(scope, executables.etcd, netns);
  const apiServer = new KubeApiServer(scope, {
    executable: executables.kubeApiServer,
    etcdUrl: etcd.url,
    netns,
    host,
    port,
    ca,
    frontProxyCa,
    pairs,
    serviceAccounts,
    admitServiceAccounts: options.admitServiceAccounts ?? false,
  });
  const api = { url: apiServer.url, caFile: ca.cert };
  const adminConfig = writeKubeconfig(scope.file("admin.kubeconfig"), api, pairs.admin);
  return {
    ca,
    api,
    apiServer,
    serviceAccounts,
    admin: new Kubectl(executables.kubectl, adminConfig, netns),
    kubeconfig: (user, group) => {
      const file = user.replaceAll(":", "-");
      const organization = group === undefined ? {} : { organization: group };
      const pair = ca.issue({ file, name: user, ...organization, use: "client" });
      return writeKubeconfig(scope.file(`${file}.kubeconfig`), api, pair);
    },
  };
}

function issuePairs(ca: Authority, frontProxyCa: Authority, host: string): Record<PairName, Pair> {
  const dns = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost"];
  return {
    serving: ca.issue({
      file: "apiserver",
      name: "kube-apiserver",
      use: "server",
      dns,
      ips: [host, "127.0.0.1", "10.96.0.1"],
    }),
    kubelet: ca.issue({ file: "kubelet-client", name: "kubelet-client", organization: ADMINISTRATORS, use: "client" }),
    aggregator: frontProxyCa.issue({ file: "aggregator", name: "front-proxy-client", use: "client" }),
    admin: ca.issue({ file: "admin", name: "admin", organization: ADMINISTRATORS, use: "client" }),
  };
}

type PairName = "serving" | "kubelet" | "aggregator" | "admin";
