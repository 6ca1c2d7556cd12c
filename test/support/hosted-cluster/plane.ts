import { mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import { Authority, type Pair, signingKey } from "../lab/certificates.js";
import { issueClientPairs, issueKubeconfig, issueServingPair } from "../lab/control-plane.js";
import { apiServerFlags } from "../lab/kube-apiserver.js";
import { type ApiAccess, Kubectl, writeKubeconfig } from "../lab/kubectl.js";
import type { NodesPlane } from "../lab/node/node.js";

/** Where its pods find what is in the Secret. */
const PKI = "/pki";
export const API_PORT = 6443;
export const API_NAME = "kube-apiserver";
export const ETCD_URL = "http://etcd-client:2379";

const inPod = (path: string): string => `${PKI}/${basename(path)}`;
const pairInPod = ({ cert, key }: Pair): Pair => ({ cert: inPod(cert), key: inPod(key) });

export interface PlaneOptions {
  readonly folder: string;
  readonly kubectl: string;
  /** Where its administrators are, and how they and its nodes reach it. */
  readonly netns: string;
  readonly address: string;
  readonly port: number;
}

/** Keys, certificates and flags of a control plane that runs as pods, and its administrator. */
export class HostedPlane implements NodesPlane {
  readonly ca: Authority;
  readonly api: ApiAccess;
  readonly adminConfig: string;
  readonly admin: Kubectl;
  readonly #folder: string;
  readonly #frontProxyCa: Authority;
  readonly #pairs: Record<"serving" | "kubelet" | "aggregator" | "admin", Pair>;
  readonly #serviceAccounts: ReturnType<typeof signingKey>;

  constructor({ folder, kubectl, netns, address, port }: PlaneOptions) {
    mkdirSync(folder);
    this.#folder = folder;
    this.ca = new Authority(folder, "cluster-ca");
    this.#frontProxyCa = new Authority(folder, "front-proxy-ca");
    this.#serviceAccounts = signingKey(folder);
    const serving = issueServingPair(this.ca, API_NAME, address, [API_NAME]);
    this.#pairs = { ...issueClientPairs(this.ca, this.#frontProxyCa), serving };
    this.api = { url: `https://${address}:${port}`, caFile: this.ca.cert };
    this.adminConfig = writeKubeconfig(join(folder, "admin.kubeconfig"), this.api, this.#pairs.admin);
    this.admin = new Kubectl(kubectl, this.adminConfig, netns);
  }

  kubeconfig(user: string, group?: string, api: ApiAccess = this.api): string {
    return issueKubeconfig(this.#folder, this.ca, user, group, api);
  }

  get apiServerFlags(): string[] {
    const [ca, frontProxyCa] = [pairInPod(this.ca), pairInPod(this.#frontProxyCa)];
    const pairs = {
      serving: pairInPod(this.#pairs.serving),
      kubelet: pairInPod(this.#pairs.kubelet),
      aggregator: pairInPod(this.#pairs.aggregator),
      admin: pairInPod(this.#pairs.admin),
    };
    const { privateKey, publicKey } = this.#serviceAccounts;
    return apiServerFlags({
      ...{ etcdUrl: ETCD_URL, host: "0.0.0.0", port: API_PORT, ca, frontProxyCa, pairs },
      serviceAccounts: { privateKey: inPod(privateKey), publicKey: inPod(publicKey) },
      ...{ admitServiceAccounts: true, admissionPlugins: [] },
    });
  }

  /** For the flags of components, with paths as their pods see them. */
  get filesInPod(): { readonly ca: Pair; readonly signingKey: string } {
    return { ca: pairInPod(this.ca), signingKey: inPod(this.#serviceAccounts.privateKey) };
  }

  /** For a component that is a pod beside the kube-apiserver; its path there. */
  kubeconfigInPod(user: string): string {
    const file = user.replaceAll(":", "-");
    const pair = this.ca.issue({ file, name: user, use: "client" });
    const api = { url: `https://${API_NAME}:${API_PORT}`, caFile: inPod(this.ca.cert) };
    return inPod(writeKubeconfig(join(this.#folder, `${file}.kubeconfig`), api, pairInPod(pair)));
  }

  /** All of it, as a Secret's data. */
  secretData(): Record<string, string> {
    const files = readdirSync(this.#folder).filter((name) => /\.(crt|key|pub|kubeconfig)$/.test(name));
    return Object.fromEntries(files.map((name) => [name, readFileSync(join(this.#folder, name)).toString("base64")]));
  }
}

export const pkiVolume = {
  mount: { name: "pki", mountPath: PKI, readOnly: true },
  volume: (secretName: string) => ({ name: "pki", secret: { secretName } }),
};
