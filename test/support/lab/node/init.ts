import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONTAINERD_SOCKET, type Snapshotter } from "./configuration.js";

export interface InitSettings {
  readonly containerd: string;
  readonly ctr: string;
  readonly containerdConfig: string;
  readonly snapshotter: Snapshotter;
  readonly images: string;
  readonly kubelet: readonly string[];
  readonly etcKubernetes: string | undefined;
}

/**
 * The first process of a node. It runs in a process and mount namespace of its own, so that its end is the end of every
 * container and of every mount, and its files under /run, /var/log, /var/lib/cni and /var/lib/kubelet never meet the host's.
 */
export function writeInit(folder: string, settings: InitSettings): string {
  const script = `set -eu
mount --make-rshared /
mount -t tmpfs lab /run
mount -t tmpfs lab /var/log
mkdir -p /var/lib/cni /var/lib/kubelet
mount -t tmpfs lab /var/lib/cni
mount -t tmpfs lab /var/lib/kubelet
${settings.etcKubernetes === undefined ? "" : ownEtc(settings.etcKubernetes)}
${settings.containerd} --config ${settings.containerdConfig} >${join(folder, "containerd.log")} 2>&1 &
for _ in $(seq 300); do [ -S ${CONTAINERD_SOCKET} ] && break; sleep 0.1; done
${settings.ctr} -a ${CONTAINERD_SOCKET} -n k8s.io images import --snapshotter ${settings.snapshotter} ${settings.images}
${settings.kubelet.join(" ")} &
wait -n
echo "a part of the node ended"
exit 1
`;
  const path = join(folder, "init.sh");
  writeFileSync(path, script);
  return path;
}

/** A copy of /etc with a folder of ours in it: the host's own /etc need not even have that mount point. */
const ownEtc = (kubernetes: string): string => `cp -a /etc /run/etc
mkdir -p /run/etc/kubernetes
mount --bind ${kubernetes} /run/etc/kubernetes
mount --rbind /run/etc /etc`;
