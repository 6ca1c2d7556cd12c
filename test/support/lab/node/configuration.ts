import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Pair } from "../certificates.js";
import { PAUSE_IMAGE } from "./image.js";

export const CNI_PLUGINS = "/usr/lib/cni";
/** On a memory file system of the node's own, see init.ts. */
export const CONTAINERD_SOCKET = "/run/containerd/containerd.sock";

export type Snapshotter = "overlayfs" | "native";

/** With the settings of the machine's own image or payload, of which the lab's tables must be no part. */
export function writeContainerdConfig(folder: string, snapshotter: Snapshotter, own = "version = 2\n"): string {
  const cri = 'plugins."io.containerd.grpc.v1.cri"';
  const lines = [
    "version = 2",
    `root = "${join(folder, "containerd")}"`,
    'state = "/run/containerd"',
    "[grpc]",
    `address = "${CONTAINERD_SOCKET}"`,
    own.replace(/^version = 2\n/, ""),
    `[${cri}]`,
    `sandbox_image = "${PAUSE_IMAGE}"`,
    // Without CAP_SYS_RESOURCE a score below the parent's own cannot be set.
    "restrict_oom_score_adj = true",
    "disable_apparmor = true",
    `[${cri}.containerd]`,
    `snapshotter = "${snapshotter}"`,
    `[${cri}.cni]`,
    `bin_dir = "${CNI_PLUGINS}"`,
    `conf_dir = "${cniFolder(folder)}"`,
  ];
  // There from the start, so that containerd sees a configuration that comes later.
  mkdirSync(cniFolder(folder));
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
  // Lets a pod reach itself by its Service.
  const plugins = [{ type: "bridge", bridge: "cni0", isGateway: false, ipMasq: false, hairpinMode: true, ipam }];
  const config = { cniVersion: "0.4.0", name: "lab", plugins };
  // Whole or not at all: containerd reads it the moment it is there.
  const path = join(cniFolder(folder), "10-lab.conflist");
  renameSync(write(`${path}.new`, JSON.stringify(config)), path);
}

const cniFolder = (folder: string): string => join(folder, "cni");
/** On the machine's own disk: tests read pods' output here without asking any API. */
export const podLogsFolder = (folder: string): string => join(folder, "pod-logs");

export interface KubeletSettings {
  readonly address: string;
  readonly serving: Pair;
  readonly clientCaFile: string;
  /** Where pods ask for names; without it they cannot. */
  readonly clusterDns?: string | undefined;
}

export function writeKubeletConfig(folder: string, settings: KubeletSettings): string {
  return writeKubelet(folder, {
    address: settings.address,
    authentication: {
      anonymous: { enabled: false },
      webhook: { enabled: true },
      x509: { clientCAFile: settings.clientCaFile },
    },
    authorization: { mode: "Webhook" },
    // How soon pods see a changed Secret; the default is a minute.
    syncFrequency: "5s",
    tlsCertFile: settings.serving.cert,
    tlsPrivateKeyFile: settings.serving.key,
    ...(settings.clusterDns === undefined ? {} : { clusterDNS: [settings.clusterDns], clusterDomain: "cluster.local" }),
  });
}

/** For a kubelet that belongs to no cluster and runs what it finds in a folder. */
export function writeStandaloneKubeletConfig(folder: string, staticPodPath: string): string {
  return writeKubelet(folder, {
    staticPodPath,
    address: "127.0.0.1",
    authentication: { anonymous: { enabled: false }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
  });
}

/** A folder for --config-dir: what this machine forces on a kubelet whose configuration is its own. */
export function writeKubeletDropIn(folder: string): string {
  const dropIns = join(folder, "kubelet.d");
  mkdirSync(dropIns);
  write(join(dropIns, "10-lab.conf"), JSON.stringify(forcedOn(folder)));
  return dropIns;
}

function writeKubelet(folder: string, settings: object): string {
  const config = {
    ...settings,
    containerRuntimeEndpoint: `unix://${CONTAINERD_SOCKET}`,
    resolvConf: "",
    ...forcedOn(folder),
  };
  return write(join(folder, "kubelet.json"), JSON.stringify(config));
}

/** A machine shared with other work: no cgroup tree of its own, no eviction for the host's full disk. */
export const SHARED_MACHINE = {
  apiVersion: "kubelet.config.k8s.io/v1beta1",
  kind: "KubeletConfiguration",
  failCgroupV1: false,
  failSwapOn: false,
  cgroupDriver: "cgroupfs",
  cgroupsPerQOS: false,
  // An empty list is the default to whoever reads and writes the file in between.
  enforceNodeAllocatable: ["none"],
  localStorageCapacityIsolation: false,
  evictionHard: { "memory.available": "0%" },
  imageGCHighThresholdPercent: 100,
};

const forcedOn = (folder: string): object => ({
  ...SHARED_MACHINE,
  podLogsDir: podLogsFolder(folder),
  volumePluginDir: join(folder, "volume-plugins"),
  healthzPort: 0,
});

function write(path: string, text: string): string {
  writeFileSync(path, text);
  return path;
}
