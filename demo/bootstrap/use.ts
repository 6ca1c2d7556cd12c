/** The steps while the bridge is in use. */
import { type BridgeByCommand, isReady, NAMESPACE } from "../../test/support/lab/bridge/by-command.js";
import type { BridgeLab } from "../../test/support/lab/bridge/lab.js";
import type { WebhookPod } from "../../test/support/lab/bridge/webhook-pod.js";
import * as objects from "../../test/support/lab/objects.js";
import type { Outcome } from "../../test/support/lab/run.js";
import { until } from "../../test/support/lab/wait.js";
import { WEBHOOK_PORT } from "../../test/support/lab/webhook-process.js";
import type { Show } from "../report/show.js";

/** Objects with this label are asked about at the webhook. */
export const HOOK = "demo";
const FAILED = "failed calling webhook";

export async function startWebhook(lab: BridgeLab, show: Show): Promise<WebhookPod> {
  const webhook = await lab.startWebhook();
  const client = objects.byService("/validate");
  await lab.apply(objects.validatingWebhook("demo", HOOK, client, lab.plane.ca.cert));
  show.result(
    `a pod at ${webhook.address} on ${webhook.node.name}; failurePolicy Fail: without its answer nothing passes`,
  );
  return webhook;
}

/** It must fail, or the rest would prove nothing. */
export async function callDirectly(lab: BridgeLab, webhook: WebhookPod, show: Show): Promise<void> {
  const url = `https://${webhook.address}:${WEBHOOK_PORT}/`;
  const { code, stderr } = await lab.bs.run(["curl", "-skS", "--max-time", "5", url]);
  if (code === 0) throw new Error(`the bootstrap host reaches ${webhook.address} without a bridge`);
  show.note(stderr.trim());
  const refused = await until("the webhook to be in force", 25_000, async () => {
    const outcome = await write(lab);
    return outcome.stderr.includes(FAILED) && outcome;
  });
  show.note(refused.stderr.trim().slice(0, 160));
  show.result("fails as it must: the bootstrap kube-apiserver cannot ask the webhook, and refuses the write");
}

export async function bringUp(lab: BridgeLab, bridge: BridgeByCommand, show: Show): Promise<void> {
  const began = performance.now();
  const outcome = await bridge.up();
  if (outcome.code !== 0) throw new Error(outcome.stderr.trim());
  for (const line of outcome.stdout.trimEnd().split("\n")) show.note(line);
  await mustPass(lab);
  const seconds = (from: number) => Number(((performance.now() - from) / 1000).toFixed(1));
  const figures = { firstAnswerSeconds: seconds(began), afterApiServerReadySeconds: seconds(bridge.apiServer.readyAt) };
  show.figures(figures);
  show.result(
    `first webhook answered after ${figures.firstAnswerSeconds} s, ${figures.afterApiServerReadySeconds} s after the kube-apiserver was ready`,
  );
}

export async function callThrough(
  lab: BridgeLab,
  bridge: BridgeByCommand,
  webhook: WebhookPod,
  show: Show,
): Promise<void> {
  const dials = await bridge.dialsDone();
  await mustPass(lab);
  const source = await lastSource(webhook);
  const pod = (await bridge.agentPods()).find(({ status }) => status.podIP === source);
  if (pod === undefined) throw new Error(`the webhook was called from ${source}, which is no agent`);
  const more = (await bridge.dialsDone()) - dials;
  if (more < 1) throw new Error("the server counted no dial");
  show.result(
    `admitted; the webhook saw ${source}, the agent on ${pod.spec.nodeName}; the server counted ${more} dial`,
  );
}

/** The controllers bring it back; until then the other one carries everything. */
export async function loseAgent(
  lab: BridgeLab,
  bridge: BridgeByCommand,
  webhook: WebhookPod,
  show: Show,
): Promise<void> {
  const [victim, other] = await bridge.agentPods();
  if (victim === undefined || other === undefined) throw new Error("there are not two agents to begin with");
  // Not with --force: kubelet v1.34.3 may panic over that, and the node is lost with it.
  const soon = ["--grace-period=1", "--wait=false"];
  await lab.kubectl("delete", "pod", "-n", NAMESPACE, victim.metadata.name, ...soon);
  const lostAt = performance.now();
  show.note(`removed ${victim.metadata.name}, the agent on ${victim.spec.nodeName}`);
  const writes = await writesUntil(lab, async () => {
    const pods = await bridge.agentPods();
    return pods.every((pod) => isReady(pod) && pod.metadata.name !== victim.metadata.name) && pods.length === 2;
  });
  await bridge.agentsConnected(2, 30_000);
  const back = ((performance.now() - lostAt) / 1000).toFixed(1);
  show.note(`the last write was admitted by way of ${await lastSource(webhook)}`);
  show.result(`${writes} writes meanwhile, none failed; the DaemonSet's new agent was ready after ${back} s`);
}

/** One after the other; how many there were. The first that is not admitted ends the story. */
async function writesUntil(lab: BridgeLab, isOver: () => Promise<boolean>): Promise<number> {
  let failure: unknown;
  let count = 0;
  await until("a new agent to be ready", 60_000, async () => {
    await mustPass(lab).catch((reason) => {
      failure = reason;
    });
    count += 1;
    return failure !== undefined || (await isOver());
  });
  if (failure !== undefined) throw failure;
  return count;
}

export async function verify(bridge: BridgeByCommand, show: Show): Promise<void> {
  const { code, stdout, stderr } = await bridge.verify("--deploy-test-webhook");
  const lines = stdout.trimEnd().split("\n");
  for (const line of lines.slice(0, -1)) if (line.trim() !== "") show.note(line);
  if (code !== 0) throw new Error(lines.at(-1) || stderr.trim());
  show.result(lines.at(-1)!);
}

/** A dry run past the webhook, through the bootstrap kube-apiserver. */
export function write(lab: BridgeLab): Promise<Outcome> {
  const object = JSON.stringify(objects.configMap("asked", HOOK));
  return lab.bs.admin.try(["create", "--dry-run=server", "-f", "-"], object);
}

async function mustPass(lab: BridgeLab): Promise<void> {
  const { code, stderr } = await write(lab);
  if (code !== 0) throw new Error(`a write was not admitted: ${stderr.trim()}`);
}

async function lastSource(webhook: WebhookPod): Promise<string | undefined> {
  return (await webhook.requests("/validate")).at(-1)?.from;
}
