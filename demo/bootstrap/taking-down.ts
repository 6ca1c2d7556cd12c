/** The steps that take the bridge away. */
import { existsSync, readFileSync } from "node:fs";
import type { Receipt } from "../../src/cluster/bootstrap/teardown/receipt.js";
import { type BridgeByCommand, commandLine } from "../../test/support/lab/bridge/by-command.js";
import type { BridgeLab } from "../../test/support/lab/bridge/lab.js";
import type { WebhookPod } from "../../test/support/lab/bridge/webhook-pod.js";
import { Writes } from "../../test/support/lab/bridge/writes.js";
import { must } from "../../test/support/lab/run.js";
import { until } from "../../test/support/lab/wait.js";
import type { Show } from "../report/show.js";
import { HOOK } from "./use.js";

/** The files of the receipt. */
export interface ReceiptFiles {
  readonly json: string;
  readonly markdown: string;
}

/** The host has a network of its own by now, as after every bootstrap; writes go on and on, and none may fail. */
export async function takeDown(lab: BridgeLab, bridge: BridgeByCommand, show: Show): Promise<ReceiptFiles> {
  await giveRoutes(lab);
  show.note("the bootstrap host now has routes to pods: the bridge is no longer needed");
  const writes = Writes.begin(lab.scope, "writes", lab.bs, HOOK);
  await until("the first writes", 10_000, () => writes.count().admitted > 3);
  const json = lab.scope.file("receipt.json");
  const { code, stderr } = await bridge.teardown(`--receipt=${json}`);
  const { admitted } = writes.count();
  await until("writes after the teardown", 15_000, () => writes.count().admitted > admitted + 3);
  const counted = await writes.end();
  for (const line of stderr.trim().split("\n")) show.note(line);
  if (code !== 0) throw new Error(`teardown ended with ${code}`);
  if (counted.failed.length > 0) throw new Error(`${counted.failed.length} writes failed: ${counted.failed[0]}`);
  show.figures({ admitted: counted.admitted, unanswered: counted.unanswered });
  show.result(
    `${counted.admitted} writes admitted before and after, none refused; ${counted.unanswered} more found the kube-apiserver restarting`,
  );
  return { json, markdown: lab.scope.file("receipt.md") };
}

export async function showReceipt({ json, markdown }: ReceiptFiles, show: Show): Promise<void> {
  for (const line of readFileSync(markdown, "utf8").trimEnd().split("\n")) show.note(line);
  const { clean, items, others } = JSON.parse(readFileSync(json, "utf8")) as Receipt;
  if (!clean) throw new Error("the receipt is not clean");
  const known = items.filter(({ openedAt }) => openedAt !== undefined).length;
  const firewall = others.firewall === undefined ? "" : "; the firewall's rule is for others to remove";
  show.result(`clean: ${known} things were opened or made, none is left${firewall}`);
}

export async function tidyUp(lab: BridgeLab, bridge: BridgeByCommand, webhook: WebhookPod, show: Show): Promise<void> {
  await until("the namespace to be gone", 60_000, () => bridge.isNamespaceGone());
  const again = await bridge.teardown("--output=json");
  const { nothingToDo } = JSON.parse(again.stdout) as Receipt;
  if (again.code !== 0 || !nothingToDo) throw new Error("a second teardown found something to do");
  show.note("a second teardown finds nothing to do");
  const remains = bridge.remains();
  if (remains.length > 0) throw new Error(`the host still has ${remains.join(", ")}`);
  const { production } = lab;
  if (production === undefined || commandLine(production.apiServer.process.pid).includes("egress"))
    throw new Error("the production kube-apiserver was changed");
  show.note(
    `the production kube-apiserver never had the flag; the webhook was asked ${(await webhook.requests()).length} times`,
  );
  await lab.stop();
  if (existsSync(lab.scope.folder)) throw new Error(`${lab.scope.folder} is left`);
  show.result("agents, server, socket, certificates and the lab itself are gone");
}

async function giveRoutes({ bs, nodes }: BridgeLab): Promise<void> {
  for (const [index, { address }] of nodes.entries()) {
    await must(["ip", "route", "replace", `10.128.${index + 1}.0/24`, "via", address], { netns: bs.netns });
  }
}
