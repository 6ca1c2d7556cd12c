/** A host as kubeadm leaves one, with a kubelet that runs the kube-apiserver from /etc/kubernetes/manifests, and a real node. */
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { applyWebhook } from "../../test/e2e/bridge-on-host.js";
import { startBridgeLab } from "../../test/support/lab/bridge/lab.js";
import { component, equipped } from "../../test/support/lab/equipment.js";
import type { Machine } from "../../test/support/lab/node/machine.js";
import * as objects from "../../test/support/lab/objects.js";
import { must } from "../../test/support/lab/run.js";
import type { StageKind, Way } from "../stage.js";

/** A /var/lib and /etc/tmpfiles.d of its own; what the kubelet has mounted below stays where it is. */
const OWN_FOLDERS = `
mkdir -p /run/var-lib/kubelet /run/var-lib/cni
mount --rbind /var/lib/kubelet /run/var-lib/kubelet
mount --rbind /var/lib/cni /run/var-lib/cni
mount --rbind /run/var-lib /var/lib
mount -t tmpfs tmpfs /etc/tmpfiles.d
`;

/** With the host's files, network and processes, as somebody with a shell there. */
const asOn =
  (machine: Machine): Way =>
  (command) => {
    const [nsenter, ...rest] = machine.command(command);
    return [nsenter, "--pid", ...rest];
  };

export const kubeadm: StageKind = {
  equipped: () => equipped({ bridge: true }),
  async set(scope) {
    const lab = await startBridgeLab({ nodes: 1 });
    scope.defer(() => lab.stop());
    // Before the host becomes one: controllers take their time to come back to a kube-apiserver that was away.
    await lab.startWebhook();
    await applyWebhook(lab);
    const { machine, etc } = await lab.becomeKubeadmHost();
    await must(machine.command(["bash", "-euc", OWN_FOLDERS]));
    copyFileSync(lab.bs.adminConfig, join(etc, "admin.conf"));
    const here = scope.file("here");
    mkdirSync(here);
    writeFileSync(join(here, "config-map.json"), JSON.stringify(objects.configMap("judged", "pod")));
    return {
      hosts: { host: asOn(machine) },
      words: {},
      env: { KUBECONFIG: "/etc/kubernetes/admin.conf", PATH: dirname(component("kubectl")) },
      steps: {},
    };
  },
};
