/** The life of a bootstrap bridge, from the lab's first process to the receipt. */
import { messageOf } from "../../src/errors/error.js";
import { type BridgeLab, startBridgeLab } from "../../test/support/lab/bridge/lab.js";
import { equipped } from "../../test/support/lab/equipment.js";
import type { Options } from "../options.js";
import { painter } from "../report/paint.js";
import { Recorder } from "../report/recorder.js";
import type { Show } from "../report/show.js";
import { hasPassed, summaryJson, summaryText, type Verdict } from "../report/summary.js";
import { BridgeByCommand } from "./bridge-by-command.js";
import { bringUp, callDirectly, callThrough, loseAgent, startWebhook, verify } from "./standing.js";
import { showReceipt, takeDown, tidyUp } from "./taking-down.js";
import { BRIDGE_TITLES } from "./titles.js";

const MEANS = "one machine as four hosts: real etcd, kube-apiservers, controllers, kubelets and containerd";

/** The exit code. Interrupted, the lab ends by itself (test/support/lab/interruption.ts). */
export async function playBootstrap({ output }: Options): Promise<number> {
  // What is missing is then said in one sentence, as an error.
  process.env.DRAWBRIDGE_REQUIRE_PEERS = "1";
  await equipped({ bridge: true });
  // With JSON on stdout the audience reads stderr.
  const stage = output === "json" ? process.stderr : process.stdout;
  const tell = (line: string) => void stage.write(`${line}\n`);
  const recorder = new Recorder(BRIDGE_TITLES, tell, painter(stage), new Promise<never>(() => {}));
  const begin = performance.now();
  tell("drawbridge demo: a bootstrap kube-apiserver reaches webhooks in pods for as long as it must, and no longer");
  tell(`isolation: namespace (${MEANS})`);
  const caller = await play(recorder, tell);
  const seconds = (performance.now() - begin) / 1000;
  const verdict: Verdict = { isolation: "namespace", means: MEANS, caller, seconds };
  if (output === "json") process.stdout.write(summaryJson(recorder.records, verdict));
  stage.write(summaryText(recorder.records, verdict, stage.columns ?? 120, painter(stage)));
  return hasPassed(recorder.records) ? 0 : 1;
}

/** Who called, for the verdict. A step that fails ends the story, and the lab with it. */
async function play(recorder: Recorder<keyof typeof BRIDGE_TITLES>, tell: (line: string) => void): Promise<string> {
  let lab: BridgeLab | undefined;
  let caller = "kube-apiserver";
  try {
    lab = await recorder.step("lab", 120, startLab);
    const here = lab;
    caller = `kube-apiserver ${await versionOf(here)}`;
    const webhook = await recorder.step("webhook", 60, (show) => startWebhook(here, show));
    await recorder.step("direct", 40, (show) => callDirectly(here, webhook, show));
    const bridge = await BridgeByCommand.plan(here, "bridge", [`--image=${here.image}`]);
    await recorder.step("up", 150, (show) => bringUp(here, bridge, show));
    await recorder.step("call", 30, (show) => callThrough(here, bridge, webhook, show));
    await recorder.step("agentLost", 90, (show) => loseAgent(here, bridge, webhook, show));
    await recorder.step("verify", 150, (show) => verify(bridge, show));
    const receipt = await recorder.step("teardown", 150, (show) => takeDown(here, bridge, show));
    await recorder.step("receipt", 10, (show) => showReceipt(receipt, show));
    await recorder.step("tidyUp", 90, (show) => tidyUp(here, bridge, webhook, show));
  } catch (reason) {
    if (recorder.records.every(({ result }) => result !== "failed")) tell(`the demo failed: ${messageOf(reason)}`);
    await lab?.stop().catch((trouble) => tell(`not everything could be removed: ${messageOf(trouble)}`));
    tell("everything the demo had started was ended and removed");
  }
  return caller;
}

async function startLab(show: Show): Promise<BridgeLab> {
  show.note("building drawbridge's image, starting the control plane, two nodes and a production kube-apiserver");
  const lab = await startBridgeLab({ nodes: 2, cni: true, production: true });
  show.note(`bs  ${lab.bs.address}  etcd and the bootstrap kube-apiserver; no route to pods`);
  for (const { name, address } of lab.nodes) show.note(`${name}  ${address}  containerd, runc, kubelet`);
  show.result(`two nodes are Ready; production's kube-apiserver is at ${lab.production?.address}`);
  return lab;
}

async function versionOf({ bs }: BridgeLab): Promise<string> {
  return (JSON.parse(await bs.admin.raw("/version")) as { gitVersion: string }).gitVersion;
}
