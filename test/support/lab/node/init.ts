import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { CONTAINERD_SOCKET } from "./configuration.js";

export interface InitSettings {
  readonly containerd: string;
  readonly ctr: string;
  readonly containerdConfig: string;
  readonly images: string;
  readonly kubelet: readonly string[];
}

/**
 * The first process of a node. It runs in a process and mount namespace of its own, so that its end is the end of every
 * container and of every mount, and its files under /run, /var/log and /var/lib/cni never meet the host's.
 */
export function writeInit(folder: string, settings: InitSettings): string {
  const script = `set -eu
mount --make-rshared /
mount -t tmpfs lab /run
mount -t tmpfs lab /var/log
mkdir -p /var/lib/cni
mount -t tmpfs lab /var/lib/cni
${settings.containerd} --config ${settings.containerdConfig} >${join(folder, "containerd.log")} 2>&1 &
for _ in $(seq 300); do [ -S ${CONTAINERD_SOCKET} ] && break; sleep 0.1; done
${settings.ctr} -a ${CONTAINERD_SOCKET} -n k8s.io images import --snapshotter native ${settings.images}
${settings.kubelet.join(" ")} &
wait -n
echo "a part of the node ended"
exit 1
`;
  const path = join(folder, "init.sh");
  writeFileSync(path, script);
  return path;
}
