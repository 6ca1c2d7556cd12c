import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nodeExecutables } from "../equipment.js";
import { writeCniConfig } from "../node/configuration.js";
import { PAUSE_IMAGE } from "../node/image.js";
import { KUBELET_PID } from "../node/init.js";
import { type Launched, launch, Machine } from "../node/machine.js";
import type { Scope } from "../scope.js";

export interface HostOptions {
  readonly name: string;
  readonly netns: string;
  readonly address: string;
  readonly podSubnet: string;
  readonly podGateway: string;
}

/** Exists as soon as somebody has asked for the kubelet. */
const KUBELET_WANTED = "/run/kubelet.wanted";

/**
 * An empty host with containerd, before kubeadm: /etc, /var/lib, /run, /var/log and /usr/libexec are its own, and
 * `systemctl start kubelet` runs the kubelet from the files that kubeadm writes, as the unit in kubeadm's package does.
 */
export class KubeadmMachine extends Machine {
  private constructor(launched: Launched) {
    super(...launched);
  }

  static async boot(scope: Scope, options: HostOptions): Promise<KubeadmMachine> {
    const { name, netns, address, podSubnet, podGateway } = options;
    const executables = nodeExecutables();
    const etc = scope.file(`etc-${name}`);
    mkdirSync(etc);
    writeFileSync(join(etc, "hosts"), `127.0.0.1 localhost\n${address} ${name}\n`);
    const launched = await launch(scope, {
      ...{ name, netns, executables },
      kubelet: (folder) => ["bash", writeKubeletUnit(folder, executables.kubelet)],
      booted: { hostname: name, etc, first: OWN_FOLDERS, containerdConfig: "" },
    });
    const machine = new KubeadmMachine(launched);
    writeCniConfig(machine.folder, podSubnet, podGateway);
    await machine.process.ready("images", 60_000, async () =>
      (await machine.ctr(["images", "ls"])).includes(PAUSE_IMAGE),
    );
    return machine;
  }

  /** With the host's files, network, name and processes, as somebody with a shell there. */
  shell(command: readonly string[]): string[] {
    const [nsenter, ...rest] = this.command(command);
    return [nsenter, "--pid", "--uts", ...rest];
  }
}

/** What the kubelet and containerd have mounted below /var/lib stays where it is. */
const OWN_FOLDERS = [
  "mkdir -p /run/var-lib/kubelet /run/var-lib/cni /run/libexec/upper /run/libexec/work",
  "mount --rbind /var/lib/kubelet /run/var-lib/kubelet",
  "mount --rbind /var/lib/cni /run/var-lib/cni",
  "mount --rbind /run/var-lib /var/lib",
  "mount -t overlay lab -o lowerdir=/usr/libexec,upperdir=/run/libexec/upper,workdir=/run/libexec/work /usr/libexec",
];

/** The flags and files of 10-kubeadm.conf, the drop-in of kubeadm's package. */
function writeKubeletUnit(folder: string, kubelet: string): string {
  const path = join(folder, "kubelet.sh");
  writeFileSync(
    path,
    `until [ -e ${KUBELET_WANTED} ]; do sleep 0.1; done
[ -e /var/lib/kubelet/kubeadm-flags.env ] && . /var/lib/kubelet/kubeadm-flags.env
exec ${kubelet} --bootstrap-kubeconfig=/etc/kubernetes/bootstrap-kubelet.conf --kubeconfig=/etc/kubernetes/kubelet.conf \\
  --config=/var/lib/kubelet/config.yaml $KUBELET_KUBEADM_ARGS
`,
  );
  return path;
}

/** A folder for the PATH with as much of systemctl as kubeadm and people use for the kubelet's unit. */
export function writeSystemctl(folder: string): string {
  mkdirSync(folder);
  writeFileSync(
    join(folder, "systemctl"),
    `#!/bin/sh
stop() { rm -f ${KUBELET_WANTED}; [ ! -e ${KUBELET_PID} ] || kill "$(cat ${KUBELET_PID})" 2>/dev/null || true; }
case "$*" in
  "start kubelet") touch ${KUBELET_WANTED} ;;
  "stop kubelet") stop ;;
  "restart kubelet") stop; touch ${KUBELET_WANTED} ;;
esac
`,
    { mode: 0o755 },
  );
  return folder;
}
