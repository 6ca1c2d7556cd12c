/** The life of a bootstrap bridge, from the lab's first process to the receipt. */
import { BridgeByCommand } from "../../test/support/lab/bridge/by-command.js";
import { type BridgeLab, startBridgeLab } from "../../test/support/lab/bridge/lab.js";
import { type LabStory, playInLab, requireMeans } from "../lab-story.js";
import type { Options } from "../options.js";
import type { Show } from "../report/show.js";
import { showReceipt, takeDown, tidyUp } from "./taking-down.js";
import { BRIDGE_TITLES } from "./titles.js";
import { bringUp, callDirectly, callThrough, loseAgent, startWebhook, verify } from "./use.js";

type Story = LabStory<keyof typeof BRIDGE_TITLES>;

export async function playBootstrap(options: Options): Promise<never> {
  await requireMeans("--bootstrap", { bridge: true });
  return playInLab(
    {
      titles: BRIDGE_TITLES,
      heading: "a bootstrap kube-apiserver reaches webhooks in pods for as long as it must, no longer",
      means: "one machine as four hosts: real etcd, kube-apiservers, controllers, kubelets and containerd",
      play,
    },
    options,
  );
}

async function play(story: Story): Promise<void> {
  const lab = await story.step("lab", 120, (show) => startLab(story, show));
  const webhook = await story.step("webhook", 60, (show) => startWebhook(lab, show));
  await story.step("direct", 40, (show) => callDirectly(lab, webhook, show));
  const bridge = await BridgeByCommand.plan(lab, "bridge", [`--image=${lab.image}`]);
  await story.step("up", 150, (show) => bringUp(lab, bridge, show));
  await story.step("call", 30, (show) => callThrough(lab, bridge, webhook, show));
  await story.step("agentLost", 90, (show) => loseAgent(lab, bridge, webhook, show));
  await story.step("verify", 150, (show) => verify(bridge, show));
  const receipt = await story.step("teardown", 150, (show) => takeDown(lab, bridge, show));
  await story.step("receipt", 10, (show) => showReceipt(receipt, show));
  await story.step("tidyUp", 90, (show) => tidyUp(lab, bridge, webhook, show));
}

async function startLab(story: Story, show: Show): Promise<BridgeLab> {
  show.note("building drawbridge's image, starting the control plane, two nodes and a production kube-apiserver");
  const starting = startBridgeLab({ nodes: 2, cni: true, production: true });
  const lab = await story.useLab(starting, ({ scope }) => scope, show);
  show.note(`bs  ${lab.bs.address}  etcd and the bootstrap kube-apiserver; no route to pods`);
  for (const { name, address } of lab.nodes) show.note(`${name}  ${address}  containerd, runc, kubelet`);
  show.result(`two nodes are Ready; production's kube-apiserver is at ${lab.production?.address}`);
  story.caller = `kube-apiserver ${await versionOf(lab)}`;
  return lab;
}

async function versionOf({ bs }: BridgeLab): Promise<string> {
  return (JSON.parse(await bs.admin.raw("/version")) as { gitVersion: string }).gitVersion;
}
