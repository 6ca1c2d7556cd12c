import { join } from "node:path";
import { freePort } from "../processes/ports.js";
import { Authority, type Pair, signingKey } from "./certificates.js";
import { startEtcd } from "./etcd.js";
import { KubeApiServer } from "./kube-apiserver.js";
import { type ApiAccess, Kubectl, writeKubeconfig } from "./kubectl.js";
import type { Scope } from "./scope.js";

export interface ControlPlaneOptions {
  /** The environment of openssl, which issues all certificates. */
  readonly issuerEnv?: Readonly<Record<string, string>>;
  readonly executables: { readonly etcd: string; readonly kubeApiServer: string; readonly kubectl: string };
  /** Both absent: everything on loopback, for tests and demonstrations that need no network of their own. */
  readonly netns?: string;
  readonly host?: string;
  readonly admitServiceAccounts?: boolean;
  /** Beyond those that are on by default. */
  readonly admissionPlugins?: readonly string[];
  /** Lets kube-apiservers on other hosts use this etcd: see `anotherApiServer`. */
  readonly shareEtcd?: boolean;
}

/** One way into the cluster. */
export interface Entrance {
  readonly api: ApiAccess;
  readonly apiServer: KubeApiServer;
  readonly admin: Kubectl;
  /** The administrator's kubeconfig. */
  readonly adminConfig: string;
}

/** etcd and a kube-apiserver (not yet started: its egress configuration is the caller's business). */
export interface ControlPlane extends Entrance {
  readonly ca: Authority;
  readonly serviceAccounts: { readonly privateKey: string; readonly publicKey: string };
  /** A kubeconfig for a user (and group) the cluster's certificate authority vouches for. */
  kubeconfig(user: string, group?: string, api?: ApiAccess): string;
  /** A second kube-apiserver of the same cluster, on another host; not yet started either. */
  anotherApiServer(name: string, netns: string, host: string): Entrance;
}

const ADMINISTRATORS = "system:masters";

export async function makeControlPlane(scope: Scope, options: ControlPlaneOptions): Promise<ControlPlane> {
  const { executables, netns } = options;
  const host = options.host ?? "127.0.0.1";
  const ca = new Authority(scope.folder, "cluster-ca", options.issuerEnv);
  const frontProxyCa = new Authority(scope.folder, "front-proxy-ca", options.issuerEnv);
  const serviceAccounts = signingKey(scope.folder);
  const clientPairs = issueClientPairs(ca, frontProxyCa);
  const etcd = await startEtcd(scope, executables.etcd, netns, options.shareEtcd ? host : undefined);
  const entrance = (
    name: string,
    place: { netns: string | undefined; host: string; port: number; etcdUrl: string },
  ) => {
    const apiServer = new KubeApiServer(scope, {
      ...place,
      name,
      executable: executables.kubeApiServer,
      ca,
      frontProxyCa,
      pairs: { ...clientPairs, serving: issueServingPair(ca, name, place.host) },
      serviceAccounts,
      admitServiceAccounts: options.admitServiceAccounts ?? false,
      admissionPlugins: options.admissionPlugins ?? [],
    });
    const api = { url: apiServer.url, caFile: ca.cert };
    const file = name === FIRST ? "admin.kubeconfig" : `admin-${name}.kubeconfig`;
    const adminConfig = writeKubeconfig(scope.file(file), api, clientPairs.admin);
    return { api, apiServer, adminConfig, admin: new Kubectl(executables.kubectl, adminConfig, place.netns) };
  };
  const port = netns === undefined ? await freePort() : 6443;
  const first = entrance(FIRST, { netns, host, port, etcdUrl: etcd.url });
  return {
    ...first,
    ca,
    serviceAccounts,
    kubeconfig: (user, group, api = first.api) => issueKubeconfig(scope.folder, ca, user, group, api),
    anotherApiServer: (name, otherNetns, otherHost) => {
      if (etcd.sharedUrl === undefined)
        throw new Error("make the control plane with shareEtcd to give it a second API server");
      return entrance(name, { netns: otherNetns, host: otherHost, port: 6443, etcdUrl: etcd.sharedUrl });
    },
  };
}

const FIRST = "kube-apiserver";

export function issueKubeconfig(
  folder: string,
  ca: Authority,
  user: string,
  group: string | undefined,
  api: ApiAccess,
): string {
  const file = user.replaceAll(":", "-");
  const organization = group === undefined ? {} : { organization: group };
  const pair = ca.issue({ file, name: user, ...organization, use: "client" });
  return writeKubeconfig(join(folder, `${file}.kubeconfig`), api, pair);
}

export function issueServingPair(ca: Authority, file: string, host: string, names: readonly string[] = []): Pair {
  const dns = ["kubernetes", "kubernetes.default", "kubernetes.default.svc", "localhost", ...names];
  const ips = [host, "127.0.0.1", "10.96.0.1"];
  return ca.issue({ file: `serving-${file}`, name: "kube-apiserver", use: "server", dns, ips });
}

export function issueClientPairs(
  ca: Authority,
  frontProxyCa: Authority,
): Record<"kubelet" | "aggregator" | "admin", Pair> {
  return {
    kubelet: ca.issue({ file: "kubelet-client", name: "kubelet-client", organization: ADMINISTRATORS, use: "client" }),
    aggregator: frontProxyCa.issue({ file: "aggregator", name: "front-proxy-client", use: "client" }),
    admin: ca.issue({ file: "admin", name: "admin", organization: ADMINISTRATORS, use: "client" }),
  };
}
