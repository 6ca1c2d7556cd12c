/** What can be built here: one entry per executable, in the order in which people wait for them. */
export type BuiltPeer = GoPeer | CratePeer;

/** A program from the crates registry. Its lock file is not used: it gets the newest dependencies that fit. */
export interface CratePeer {
  readonly name: string;
  readonly crate: string;
  readonly version: string;
  /** Debian packages that are needed beside cargo. */
  readonly headers: string;
  readonly onlyByName: true;
}

export const isCrate = (peer: BuiltPeer): peer is CratePeer => "crate" in peer;

export interface GoPeer {
  readonly name: string;
  /** Folder beside this file whose go.mod pins the version. */
  readonly folder:
    | "konnectivity"
    | "kubernetes"
    | "kubeadm"
    | "etcd"
    | "kube-router"
    | "loadgen"
    | "no-proxy"
    | "ignition"
    | "pem-judge";
  /** Go module whose version names the peer; `go` for what needs the standard library alone. */
  readonly module: string;
  /** Package to build; one that begins with "./" is our own source. */
  readonly package: string;
  /** A test binary (`go test -c`) instead of a program. */
  readonly test?: true;
  /** Needs a C compiler and the headers of the Debian package; the executable is then not static. */
  readonly headers?: string;
  /** Takes minutes and is for one page of the documentation: built when somebody names it. */
  readonly onlyByName?: true;
}

const KONNECTIVITY = "sigs.k8s.io/apiserver-network-proxy";
const KUBERNETES = "k8s.io/kubernetes";
const ETCD = "go.etcd.io/etcd/server/v3";
const KUBE_ROUTER = "github.com/cloudnativelabs/kube-router/v2";
const IGNITION = "github.com/coreos/ignition/v2";

const konnectivity = (name: string, goPackage: string): GoPeer => ({
  name,
  folder: "konnectivity",
  module: KONNECTIVITY,
  package: goPackage,
});

const kubernetes = (name: string, folder: "kubernetes" | "kubeadm" = "kubernetes"): GoPeer => ({
  name,
  folder,
  module: KUBERNETES,
  package: `${KUBERNETES}/cmd/${name}`,
});

export const builtPeers: readonly BuiltPeer[] = [
  konnectivity("proxy-server", `${KONNECTIVITY}/cmd/server`),
  konnectivity("proxy-agent", `${KONNECTIVITY}/cmd/agent`),
  { ...konnectivity("konnectivity-suite", `${KONNECTIVITY}/tests`), test: true },
  {
    ...konnectivity("grpc-dialer", "./grpc-dialer"),
    module: `${KONNECTIVITY}/konnectivity-client`,
  },
  { name: "loadgen", folder: "loadgen", module: `${KONNECTIVITY}/konnectivity-client`, package: "./" },
  { name: "no-proxy", folder: "no-proxy", module: "golang.org/x/net", package: "./" },
  { name: "pem-judge", folder: "pem-judge", module: "go", package: "./" },
  { name: "ignition-validate", folder: "ignition", module: IGNITION, package: `${IGNITION}/validate` },
  {
    name: "ignition",
    folder: "ignition",
    module: IGNITION,
    package: `${IGNITION}/internal`,
    headers: "libblkid-dev",
  },
  { name: "ignition-judge", folder: "ignition", module: IGNITION, package: "./ignition-judge" },
  kubernetes("kube-apiserver"),
  kubernetes("kubectl"),
  kubernetes("kubelet"),
  kubernetes("kube-controller-manager"),
  kubernetes("kube-scheduler"),
  // Enforces network policies.
  { name: "kube-router", folder: "kube-router", module: KUBE_ROUTER, package: `${KUBE_ROUTER}/cmd/kube-router` },
  { ...kubernetes("kubeadm", "kubeadm"), onlyByName: true },
  { ...kubernetes("kube-proxy", "kubeadm"), onlyByName: true },
  // What kubeadm runs; the system's etcd is too old for its flags and probes, and good enough for everybody else.
  { name: "etcd-for-kubeadm", folder: "etcd", module: ETCD, package: ETCD, onlyByName: true },
  // One of the tunnels of docs/comparison.md.
  { name: "rathole", crate: "rathole", version: "0.5.0", headers: "pkg-config and libssl-dev", onlyByName: true },
];

/** Executables that may also come from PATH, with the Debian package that brings them (none: only built here). */
export const systemPeers: ReadonlyMap<string, string | undefined> = new Map([
  ["kube-apiserver", undefined],
  ["kubectl", undefined],
  ["etcd", "etcd-server"],
  ["etcdctl", "etcd-client"],
  ["containerd", "containerd"],
  ["ctr", "containerd"],
  ["runc", "runc"],
]);

/** Kubernetes programs refuse work or misjudge version skew unless the linker tells them who they are. */
export function linkerFlags(peer: GoPeer, version: string): string {
  const flags = ["-s", "-w"];
  if (peer.name === "ignition") {
    flags.push(`-X ${IGNITION}/internal/version.Raw=${version.replace(/^v/, "")}`);
    // There is no SELinux policy below a test's directory.
    flags.push(`-X ${IGNITION}/internal/distro.selinuxRelabel=false`);
  }
  if (peer.module === KUBERNETES) {
    const [major = "", minor = ""] = version.replace(/^v/, "").split(".");
    const values = { gitVersion: version, gitMajor: major, gitMinor: minor, gitTreeState: "clean" };
    for (const target of ["k8s.io/component-base/version", "k8s.io/client-go/pkg/version"]) {
      for (const [variable, value] of Object.entries(values)) flags.push(`-X ${target}.${variable}=${value}`);
    }
  }
  return flags.join(" ");
}
