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
  readonly booted: Booted | undefined;
}

/** A machine as a first boot left it. */
export interface Booted {
  /** What it calls itself. */
  readonly hostname: string;
  /** Goes over a copy of this machine's /etc. */
  readonly etc: string;
  /** Before the kubelet. */
  readonly first: readonly string[];
}

/** Of the kubelet of a booted machine, as seen by its first process. */
export const KUBELET_PID = "/run/kubelet.pid";

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
${
  settings.etcKubernetes === undefined
    ? ""
    : ownEtc(`mkdir -p /run/etc/kubernetes
mount --bind ${settings.etcKubernetes} /run/etc/kubernetes`)
}
${settings.booted === undefined ? "" : afterBoot(settings.booted)}
${settings.containerd} --config ${settings.containerdConfig} >${join(folder, "containerd.log")} 2>&1 &
for _ in $(seq 600); do [ -S ${CONTAINERD_SOCKET} ] && break; sleep 0.1; done
${settings.ctr} -a ${CONTAINERD_SOCKET} -n k8s.io images import --snapshotter ${settings.snapshotter} ${settings.images}
${settings.booted === undefined ? `${settings.kubelet.join(" ")} &` : supervised(settings.kubelet)}
wait -n
echo "a part of the node ended"
exit 1
`;
  const path = join(folder, "init.sh");
  writeFileSync(path, script);
  return path;
}

/** A copy of /etc with files of ours in it: the host's own /etc need not even have the mount points. */
const ownEtc = (fill: string): string => `cp -a /etc /run/etc
${fill}
mount --rbind /run/etc /etc`;

/** Without a name server, of which the lab has none: the kubelet looks for its own name, and would wait for an answer. */
const afterBoot = ({ etc, first, hostname }: Booted): string => `hostname ${hostname}
${ownEtc(`cp -a ${etc}/. /run/etc/
rm -f /run/etc/resolv.conf
touch /run/etc/resolv.conf`)}
${first.join("\n")}`;

/** What Restart=always in its unit stands for. */
const supervised = (command: readonly string[]): string => `while :; do
  ${command.join(" ")} &
  echo $! >${KUBELET_PID}
  wait $! || echo "the kubelet ended with $? and is started again"
  sleep 1
done &`;
