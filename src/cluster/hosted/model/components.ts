/** Which components of the control plane reach the data plane through a proxy beside them, and how. */
import type { SidecarMode } from "./images.js";
import type { HostedModel } from "./model.js";
import { proxyPorts } from "./names.js";

export interface ComponentProxy {
  readonly mode: SidecarMode;
  /** The port of the proxy; default 8090. */
  readonly port?: number;
  /** Further flags. */
  readonly flags?: readonly string[];
}

/** The proxy reaches the APIs of clouds past the tunnel. */
export const CLOUD_BYPASS = "--connect-directly-to-cloud-apis=true";
const GUEST_DNS = "--resolve-from-guest-cluster-dns=true";

export interface ProxiedComponent {
  /** The name of the Deployment and of its main container. */
  readonly name: string;
  /** The proxies, in the order of the pod's containers. */
  readonly sidecars: readonly ComponentProxy[];
  /** Volume of the main Deployment that holds the hosted cluster's kubeconfig. */
  readonly kubeconfigVolume: string;
  /** Whether it goes on answering for a while after it was told to end, and so needs its proxies. */
  readonly endsSlowly: boolean;
  /** The variables of the main container; NO_PROXY entries are joined. */
  readonly environment: Readonly<Record<string, string | readonly string[]>>;
}

const local = (scheme: "http" | "socks5", port: number = proxyPorts.first): string => `${scheme}://127.0.0.1:${port}`;
const API_SERVER = "kube-apiserver";
const AUDIT = "audit-webhook";
/** Catalogs of operators that the control plane serves. */
const CATALOGS = ["certified-operators", "community-operators", "redhat-operators"];
/** IBM's sign-in, which its control planes reach by themselves. */
const IBM_IAM = ["iam.cloud.ibm.com", "iam.test.cloud.ibm.com"];
const both = (url: string) => ({ HTTP_PROXY: url, HTTPS_PROXY: url });

const SLOW_TO_END = new Set(["openshift-apiserver", "openshift-oauth-apiserver", "oauth-openshift", "packageserver"]);

const component = (
  name: string,
  sidecars: readonly ComponentProxy[],
  environment: ProxiedComponent["environment"],
  kubeconfigVolume = "kubeconfig",
): ProxiedComponent => ({ name, sidecars, environment, kubeconfigVolume, endsSlowly: SLOW_TO_END.has(name) });

/** As HyperShift wires them. The network operator reaches for its proxy explicitly, without any variable. */
export function proxiedComponents(model: HostedModel): ProxiedComponent[] {
  const storage = [API_SERVER, model.etcdHost, AUDIT];
  const catalogs = model.olmCatalogPlacement === "management" ? CATALOGS : [];
  const viaGrpc = { GRPC_PROXY: local("socks5"), NO_PROXY: [API_SERVER, ...catalogs] };
  const oauth = `oauth-openshift.${model.namespace}.svc.cluster.local`;
  return [
    component("openshift-apiserver", [{ mode: "https" }], { ...both(local("http")), NO_PROXY: storage }),
    component("openshift-oauth-apiserver", [{ mode: "socks5", flags: [GUEST_DNS] }], {
      ...both(local("socks5")),
      NO_PROXY: storage,
    }),
    component(
      "oauth-openshift",
      [
        { mode: "https", port: proxyPorts.second, flags: [CLOUD_BYPASS] },
        { mode: "socks5", flags: [GUEST_DNS, "--resolve-from-management-cluster-dns=true"] },
      ],
      {
        ...both(local("http", proxyPorts.second)),
        ALL_PROXY: local("socks5"),
        NO_PROXY: [API_SERVER, AUDIT, oauth, ...(model.platform?.type === "IBMCloud" ? IBM_IAM : [])],
      },
    ),
    component(
      "ingress-operator",
      [{ mode: "https", flags: [CLOUD_BYPASS] }],
      { ...both(local("http")), NO_PROXY: [API_SERVER] },
      "admin-kubeconfig",
    ),
    component(
      "cluster-network-operator",
      [{ mode: "socks5", flags: ["--disable-resolver=true"] }],
      {},
      "hosted-etc-kube",
    ),
    component("olm-operator", [{ mode: "socks5" }], viaGrpc),
    component("catalog-operator", [{ mode: "socks5" }], viaGrpc),
    component("packageserver", [{ mode: "socks5" }], viaGrpc),
    component("ovnkube-control-plane", [{ mode: "socks5" }], { ALL_PROXY: local("socks5"), NO_PROXY: [API_SERVER] }),
  ];
}

/** An API that a HyperShift's control plane serves. */
interface Preset {
  /** Names as version.group. */
  readonly apiServices: readonly string[];
  readonly groupPriorityMinimum: number;
}

const openshift = (...groups: readonly string[]): Preset => ({
  apiServices: groups.map((group) => `v1.${group}.openshift.io`),
  groupPriorityMinimum: 9900,
});

/** APIs of HyperShift by the names of their Services. */
export const PRESETS: Readonly<Record<string, Preset>> = {
  "openshift-apiserver": openshift(
    ...["apps", "authorization", "build", "image", "project", "quota", "route", "security", "template"],
  ),
  "openshift-oauth-apiserver": openshift("oauth", "user"),
  packageserver: { apiServices: ["v1.packages.operators.coreos.com"], groupPriorityMinimum: 2000 },
};
