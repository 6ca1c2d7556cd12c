import { peerPath } from "../../../peers/index.js";
import { requireNamespaces } from "../netns/index.js";
import { executable, type Origin, type Program } from "../processes/executables.js";
import { lacks } from "./lacks.js";
import { CNI_PLUGINS } from "./node/configuration.js";
import { type Tool, toolPath } from "./tools.js";

/** DRAWBRIDGE_LAB_PEERS=upstream runs the whole suite with the original's programs: the control that the lab is right. */
export const origin: Origin = process.env.DRAWBRIDGE_LAB_PEERS === "upstream" ? "theirs" : "ours";

/** Every lab needs these; setpriv makes its processes die with the test. */
const ALWAYS: readonly Tool[] = ["setpriv", "openssl", "curl"];
const IN_NAMESPACES: readonly Tool[] = ["nsenter", "iptables", "ss"];
const FOR_SEVERAL_SERVERS: readonly Tool[] = ["haproxy"];
const FOR_A_NODE: readonly Tool[] = ["unshare", "busybox"];
const FOR_KUBE_PROXY: readonly Tool[] = ["nft"];
const FOR_POLICIES: readonly Tool[] = ["ipset", "nft"];
const FOR_A_MACHINE: readonly Tool[] = [
  ...([
    "unshare",
    "busybox",
    "modprobe",
    "libvirtd",
    "virsh",
    "virt-install",
    "qemu-img",
    "qemu-system-x86_64",
  ] as const),
];
const FOR_THE_IMAGE: readonly Tool[] = ["apt-get", "dpkg-deb"];

const UPSTREAM = ["proxy-server", "proxy-agent"] as const;
const CONTROL_PLANE = ["etcd", "kube-apiserver", "kubectl"] as const;
const CONTROLLERS = ["kube-controller-manager"] as const;
const SCHEDULER = ["kube-scheduler"] as const;
const NODE = ["kubelet", "containerd", "ctr", "runc"] as const;
const POLICIES = ["kube-router"] as const;
/** Built only when they are named. */
export const KUBEADM = ["kubeadm", "kube-proxy", "etcd-for-kubeadm"] as const;

export interface Needs {
  /** Upstream's programs beside those under test. */
  readonly upstream?: boolean;
  readonly controlPlane?: boolean;
  /** The controller-manager, for its signer and whatever else it does, without a node. */
  readonly controllers?: boolean;
  readonly scheduler?: boolean;
  readonly namespaces?: boolean;
  /** A kubelet with its runtime, and the controllers. */
  readonly node?: boolean;
  /** A libvirt of the lab's own, and what boots in a machine of it. */
  readonly machine?: boolean;
  /** HAProxy in front of several servers. */
  readonly balancer?: boolean;
  /** Everything for startBridgeLab. */
  readonly bridge?: boolean;
  /** Network policies that are enforced. */
  readonly policies?: boolean;
  /** Everything for startKubeadmLab. */
  readonly kubeadm?: boolean;
}

/** Whether the lab can be built here. When not, one line says why, or it is a failure (DRAWBRIDGE_REQUIRE_PEERS=1). */
export async function equipped(wanted: Needs): Promise<boolean> {
  const needs: Needs =
    wanted.bridge || wanted.kubeadm
      ? { ...wanted, controlPlane: true, scheduler: true, namespaces: true, node: true }
      : wanted;
  const missing = lacks({
    peers: [
      ...(needs.upstream || origin === "theirs" ? UPSTREAM : []),
      ...(needs.controlPlane ? CONTROL_PLANE : []),
      ...(needs.controllers || needs.node ? CONTROLLERS : []),
      ...(needs.scheduler ? SCHEDULER : []),
      ...(needs.node ? NODE : []),
      ...(needs.policies ? POLICIES : []),
      ...(needs.machine ? ["ignition"] : []),
      ...(needs.kubeadm ? KUBEADM : []),
    ],
    tools: [
      ...ALWAYS,
      ...(needs.namespaces ? IN_NAMESPACES : []),
      ...(needs.balancer ? FOR_SEVERAL_SERVERS : []),
      ...(needs.node ? FOR_A_NODE : []),
      ...(needs.machine ? FOR_A_MACHINE : []),
      ...(needs.kubeadm ? FOR_KUBE_PROXY : []),
      ...(needs.policies ? FOR_POLICIES : []),
      ...(needs.bridge || needs.kubeadm ? FOR_THE_IMAGE : []),
    ],
    files: needs.node ? [[`${CNI_PLUGINS}/bridge`, "containernetworking-plugins"]] : [],
  });
  if (missing === undefined) return !needs.namespaces || (await requireNamespaces());
  if (process.env.DRAWBRIDGE_REQUIRE_PEERS === "1") throw new Error(missing);
  process.stderr.write(`skipped: ${missing}\n`);
  return false;
}

/** A real component; call `equipped` before. */
export function component(name: string): string {
  const path = peerPath(name);
  if (path === undefined) throw new Error(`${name} is missing: run npm run peers.`);
  return path;
}

/** The proxy-server or proxy-agent under test. */
export const underTest = (program: Program): string => executable(origin, program);

export const controlPlaneExecutables = () => ({
  etcd: component("etcd"),
  kubeApiServer: component("kube-apiserver"),
  kubectl: component("kubectl"),
});

export const nodeExecutables = () => ({
  kubelet: component("kubelet"),
  containerd: component("containerd"),
  ctr: component("ctr"),
  busybox: toolPath("busybox") ?? "busybox",
});
