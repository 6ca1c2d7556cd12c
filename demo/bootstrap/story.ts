/** The life of a bootstrap bridge, from the lab's first process to the receipt. */
import { messageOf } from "../../src/base/errors/error.js";
import { BridgeByCommand } from "../../test/support/lab/bridge/by-command.js";
import { type BridgeLab, startBridgeLab } from "../../test/support/lab/bridge/lab.js";
import { equipped } from "../../test/support/lab/equipment.js";
import { dropGuard } from "../../test/support/lab/interruption.js";
import { Interruption } from "../interruption.js";
import type { Options } from "../options.js";
import { painter } from "../report/paint.js";
import { Recorder } from "../report/recorder.js";
import type { Show } from "../report/show.js";
import { hasPassed, summaryJson, summaryText, type Verdict } from "../report/summary.js";
import { showReceipt, takeDown, tidyUp } from "./taking-down.js";
import { BRIDGE_TITLES } from "./titles.js";
import { bringUp, callDirectly, callThrough, loseAgent, startWebhook, verify } from "./use.js";

const MEANS = "one machine as four hosts: real etcd, kube-apiservers, controllers, kubelets and containerd";

/** Ends the process: after an interruption a step may still be waiting for what was taken away. */
export async function playBootstrap({ output }: Options): Promise<never> {
  await requireMeans();
  // With JSON on stdout the audience reads stderr.
  const story = new BridgeStory(output === "json" ? process.stderr : process.stdout);
  await story.play();
  process.exit(story.report(output));
}

/** What is missing is said in one sentence, as an error. */
async function requireMeans(): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new Error("--bootstrap makes hosts out of network namespaces and mounts, which needs root: run it as root");
  }
  process.env.DRAWBRIDGE_REQUIRE_PEERS = "1";
  await equipped({ bridge: true });
}

class BridgeStory {
  readonly #screen: NodeJS.WriteStream;
  readonly #interruption = new Interruption();
  readonly #recorder: Recorder<keyof typeof BRIDGE_TITLES>;
  readonly #begin = performance.now();
  #lab: Promise<BridgeLab> | undefined;
  /** Of the lab, where all hosts have their files. */
  #folder: string | undefined;
  /** For the verdict. */
  #caller = "kube-apiserver";

  constructor(screen: NodeJS.WriteStream) {
    this.#screen = screen;
    const tell = (line: string) => this.#tell(line);
    this.#recorder = new Recorder(BRIDGE_TITLES, tell, painter(screen), new Promise<never>(() => {}));
  }

  /** Returns when everything is told and gone, however it went. */
  async play(): Promise<void> {
    this.#tell(
      "drawbridge demo: a bootstrap kube-apiserver reaches webhooks in pods for as long as it must, no longer",
    );
    this.#tell(`isolation: namespace (${MEANS})`);
    try {
      await this.#interruption.race(this.#steps());
    } catch (reason) {
      const failed = this.#recorder.records.some(({ result }) => result === "failed");
      if (!failed) this.#tell(`the demo failed: ${messageOf(reason)}`);
    }
    if (!hasPassed(this.#recorder.records)) await this.#endAll();
  }

  /** The exit code. */
  report(output: Options["output"]): number {
    if (this.#interruption.happened) {
      this.#screen.write("the demo was interrupted\n");
      return this.#interruption.exitCode;
    }
    const { records } = this.#recorder;
    const seconds = (performance.now() - this.#begin) / 1000;
    const verdict: Verdict = { isolation: "namespace", means: MEANS, caller: this.#caller, seconds };
    if (output === "json") process.stdout.write(summaryJson(records, verdict));
    this.#screen.write(summaryText(records, verdict, this.#screen.columns ?? 120, painter(this.#screen)));
    return hasPassed(records) ? 0 : 1;
  }

  async #steps(): Promise<void> {
    const recorder = this.#recorder;
    const lab = await recorder.step("lab", 120, (show) => this.#startLab(show));
    const webhook = await recorder.step("webhook", 60, (show) => startWebhook(lab, show));
    await recorder.step("direct", 40, (show) => callDirectly(lab, webhook, show));
    const bridge = await BridgeByCommand.plan(lab, "bridge", [`--image=${lab.image}`]);
    await recorder.step("up", 150, (show) => bringUp(lab, bridge, show));
    await recorder.step("call", 30, (show) => callThrough(lab, bridge, webhook, show));
    await recorder.step("agentLost", 90, (show) => loseAgent(lab, bridge, webhook, show));
    await recorder.step("verify", 150, (show) => verify(bridge, show));
    const receipt = await recorder.step("teardown", 150, (show) => takeDown(lab, bridge, show));
    await recorder.step("receipt", 10, (show) => showReceipt(receipt, show));
    await recorder.step("tidyUp", 90, (show) => tidyUp(lab, bridge, webhook, show));
  }

  async #startLab(show: Show): Promise<BridgeLab> {
    show.note("building drawbridge's image, starting the control plane, two nodes and a production kube-apiserver");
    this.#lab = startBridgeLab({ nodes: 2, cni: true, production: true });
    // Interrupted, the lab would end in a hurry; here there is time to take it down in good order.
    dropGuard();
    const lab = await this.#lab;
    show.note(`all files are in ${lab.scope.folder}, which is left out below`);
    this.#folder = `${lab.scope.folder}/`;
    show.note(`bs  ${lab.bs.address}  etcd and the bootstrap kube-apiserver; no route to pods`);
    for (const { name, address } of lab.nodes) show.note(`${name}  ${address}  containerd, runc, kubelet`);
    show.result(`two nodes are Ready; production's kube-apiserver is at ${lab.production?.address}`);
    this.#caller = `kube-apiserver ${await versionOf(lab)}`;
    return lab;
  }

  async #endAll(): Promise<void> {
    if (this.#interruption.happened) this.#screen.write("\ninterrupted: ending and removing everything\n");
    // A lab that could not be started has removed itself.
    const lab = await this.#lab?.catch(() => undefined);
    try {
      await lab?.stop();
      this.#screen.write("everything the demo had started was ended and removed\n");
    } catch (reason) {
      this.#screen.write(`not everything could be removed: ${messageOf(reason)}\n`);
    }
  }

  /** An interrupted step fails because its props are taken away: that is not worth telling. Nor is the lab's folder. */
  #tell(line: string): void {
    if (this.#interruption.happened) return;
    this.#screen.write(`${this.#folder === undefined ? line : line.replaceAll(this.#folder, "")}\n`);
  }
}

async function versionOf({ bs }: BridgeLab): Promise<string> {
  return (JSON.parse(await bs.admin.raw("/version")) as { gitVersion: string }).gitVersion;
}
