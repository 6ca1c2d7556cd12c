/**
 * docs/hosted.md's two clusters, played by one (test/support/hosted/lab.ts): two real nodes, a Deployment in the place of the
 * control plane's kube-apiserver, and a cloud that gives a load balancer its address.
 */
import { copyFileSync, mkdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { HostedLab, NAMESPACE } from "../../test/support/hosted/lab.js";
import { component, equipped } from "../../test/support/lab/equipment.js";
import * as objects from "../../test/support/lab/objects.js";
import { until } from "../../test/support/lab/wait.js";
import { inNetworkOf, type StageKind } from "../stage.js";

const SERVERS = 3;
const ADDRESS_WITHIN_MS = 60_000;

export const hosted: StageKind = {
  equipped: () => equipped({ bridge: true, balancer: true }),
  async set(scope) {
    const control = await HostedLab.start();
    scope.defer(() => control.stop());
    const { lab } = control;
    const here = scope.file("here");
    mkdirSync(here);
    for (const name of ["management", "hosted"]) copyFileSync(lab.bs.adminConfig, join(here, `${name}.kubeconfig`));
    return {
      hosts: { workstation: inNetworkOf(lab.bs.netns) },
      words: {},
      env: { PATH: dirname(component("kubectl")) },
      steps: {
        "a cloud": async () => void giveAddress(control),
        "the kube-apiserver's flags": async () => {
          await lab.kubectl("scale", "deployment", "kube-apiserver", "-n", NAMESPACE, `--replicas=${SERVERS}`);
          await control.openTunnel(SERVERS);
          await control.useTunnel();
        },
        "a webhook": async () => {
          await lab.startWebhook();
          const webhook = objects.byService("/validate");
          await lab.apply(objects.validatingWebhook("validate-in-pod", "pod", webhook, lab.plane.ca.cert));
        },
      },
    };
  },
};

/** What a cloud's controller does as soon as there is a Service that asks for it. */
async function giveAddress({ lab }: HostedLab): Promise<void> {
  const ip = lab.nodes[0]?.address;
  const patch = JSON.stringify({ status: { loadBalancer: { ingress: [{ ip }] } } });
  const service = ["service", "konnectivity-server", "-n", NAMESPACE];
  await until("a Service to ask for an address", ADDRESS_WITHIN_MS, async () => {
    const { code } = await lab.bs.admin.try(["patch", ...service, "--subresource=status", "--type=merge", "-p", patch]);
    return code === 0;
  });
}
