import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pair } from "../certificates.js";
import { PAUSE_IMAGE } from "./image.js";

export const CNI_PLUGINS = "/usr/lib/cni";
/** On a memory file system of the node's own, see init.ts. */
export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";

export function writeContainerdConfig(folder: string): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const lines = [
    "version = 2",
    `root = "${join(folder, "containerd")}"`,
    'state = "/run/containerd"',
    "[grpc]",
    `address = "${CONTAINERD_SOCKET}"`,
    `[${cri}]`,
    `sandbox_image = "${PAUSE_IMAGE}"`,
    // Without CAP_SYS_RESOURCE a score below the parent's own cannot be set.
    "restrict_oom_score_adj = true",
    "disable_apparmor = true",
    `[${cri}.containerd]`,
    'snapshotter = "native"',
    `[${cri}.cni]`,
    `bin_dir = "${CNI_PLUGINS}"`,
    `conf_dir = "${join(folder, "cni")}"`,
  ];
  return write(join(folder, "containerd.toml"), `${lines.join("\n")}\n`);
}

/** Pods join the bridge that the topology already has, beside the namespaces that play pods. */
export function writeCniConfig(folder: string, subnet: string, gateway: string): void {
  const [network = ""] = subnet.split("/");
  const ipam = {
    type: "host-local",
    dataDir: join(folder, "cni-leases"),
    ranges: [[{ subnet, rangeStart: network.replace(/0$/, "100"), gateway }]],
    routes: [{ dst: "0.0.0.0/0" }],
  };
  const plugins = [{ type: "bridge", bridge: "cni0", isGateway: false, ipMasq: false, ipam }];
  const config = { cniVersion: "0.4.0", name: "lab", plugins };
  mkdirSync(join(folder, "cni"));
  write(join(folder, "cni", "10-lab.conflist"), JSON.stringify(config));
}

export interface KubeletSettings {
  readonly address: string;
  readonly serving: Pair;
  readonly clientCaFile: string;
}

export function writeKubeletConfig(folder: string, settings: KubeletSettings): string {
  const config = {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    address: settings.address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: settings.clientCaFile },
    },
    authorization: { mode: "Webhook" },
    tlsCertFile: settings.serving.cert,
    tlsPrivateKeyFile: settings.serving.key,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    podLogsDir: join(folder, "pod-logs"),
    volumePluginDir: join(folder, "volume-plugins"),
    resolvConf: "",
    healthzPort: 0,
    // A machine shared with other work: no cgroup tree of its own, no eviction for the host's full disk.
    failCgroupV1: false,
    failSwapOn: false,
    cgroupDriver: "cgroupfs",
    cgroupsPerQOS: false,
    enforceNodeAllocatable: [],
    localStorageCapacityIsolation: false,
    evictionHard: { "memory.available": "0%" },
    imageGCHighThresholdPercent: 100,
  };
  return write(join(folder, "kubelet.json"), JSON.stringify(config));
}

function write(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}
