/** A bootstrap host whose kube-apiserver has no route to pods, two real nodes, and a webhook in a pod that must answer. */
import { copyFileSync, existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { applyWebhook } from "../../test/e2e/bridge-on-host.js";
import { commandLine } from "../../test/support/lab/bridge/by-command.js";
import { startBridgeLab } from "../../test/support/lab/bridge/lab.js";
import { component, equipped } from "../../test/support/lab/equipment.js";
import * as objects from "../../test/support/lab/objects.js";
import { inNetworkOf, type StageKind } from "../stage.js";

export const bare: StageKind = {
  equipped: () => equipped({ bridge: true }),
  async set(scope) {
    const lab = await startBridgeLab({ nodes: 2 });
    scope.defer(() => lab.stop());
    const here = scope.file("here");
    scope.defer(() => endServer(join(here, "drawbridge-state/server.pid")));
    mkdirSync(here);
    copyFileSync(lab.bs.adminConfig, join(here, "admin.conf"));
    await lab.startWebhook();
    writeFileSync(join(here, "config-map.json"), JSON.stringify(objects.configMap("judged", "pod")));
    await applyWebhook(lab);
    return {
      hosts: { bs: inNetworkOf(lab.bs.netns) },
      words: { IMAGE: lab.image, HERE: here },
      env: { KUBECONFIG: lab.bs.adminConfig, PATH: dirname(component("kubectl")) },
      steps: {
        "with the flag": () => lab.bs.apiServer.start(join(here, "drawbridge-etc/egress-selector-config.yaml")),
        "without the flag": () => lab.bs.apiServer.start(),
      },
    };
  },
};

/** The server outlives the command that started it, and must not outlive the lab when a page stops half-way. */
function endServer(pidFile: string): void {
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8"));
  // The number may have become somebody else's.
  if (existsSync(`/proc/${pid}`) && commandLine(pid).includes(dirname(pidFile).replace(/-state$/, "-run")))
    process.kill(pid, "SIGKILL");
}
