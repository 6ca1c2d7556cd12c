/** What the tests of `drawbridge bootstrap up` and `teardown` have in common. */
import { fileURLToPath } from "node:url";
import type { BridgeLab } from "../support/lab/bridge/lab.js";
import { origin, underTest } from "../support/lab/equipment.js";
import type { Kubectl } from "../support/lab/kubectl.js";
import * as objects from "../support/lab/objects.js";
import type { Outcome } from "../support/lab/run.js";
import { REFUSE_LABEL } from "../support/lab/webhook/admission.js";

export const DRAWBRIDGE = fileURLToPath(new URL("../../dist/bin/drawbridge", import.meta.url));

export const ADMITTED = { code: 0, stderr: "" };

/** Ours, or upstream's server and agents in our manifests (DRAWBRIDGE_LAB_PEERS=upstream). */
export async function programFlags(lab: BridgeLab): Promise<string[]> {
  if (origin === "ours") return [`--image=${lab.image}`];
  const agents = `--agent-image=${await lab.importUpstreamImage()}`;
  return ["--image-kind=upstream", agents, `--server-program=${underTest("proxy-server")}`];
}

/** Puts the lab's webhook into force: it must answer, or config maps with its label are refused. */
export function applyWebhook(lab: BridgeLab): Promise<void> {
  return lab.apply(objects.validatingWebhook("in-pod", "pod", objects.byService("/validate"), lab.plane.ca.cert));
}

let count = 0;

/** A config map that the webhook has to admit. */
export function create(admin: Kubectl): Promise<Outcome> {
  return admin.try(["create", "-f", "-"], JSON.stringify(objects.configMap(`write-${count++}`, "pod")));
}

/** Whether the webhook answers: nobody else refuses in these words. */
export async function isRefused(admin: Kubectl): Promise<boolean> {
  const object = objects.configMap("to-be-refused", "pod", { [REFUSE_LABEL]: "yes" });
  const { stderr } = await admin.try(["create", "-f", "-"], JSON.stringify(object));
  return stderr.includes("refused by the lab's webhook");
}
