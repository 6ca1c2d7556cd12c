import { waitUntil } from "../../test/support/processes/deadline.js";
import type { Place } from "../isolation/place.js";
import type { Show } from "../report/show.js";
import { RULE } from "../webhook/admission.js";
import type { ControlPlane } from "./control-plane.js";
import { CONFIG_MAPS, clusterObjects, configMap } from "./objects.js";

/** A real kube-apiserver asks the webhook before it makes config maps: one that may pass and one that may not. */
export async function admitThroughKubernetes(
  { api, version }: ControlPlane,
  place: Place,
  caFile: string,
  show: Show,
): Promise<void> {
  for (const [path, object] of clusterObjects(place, caFile)) {
    const { status, body } = await api.post(path, object);
    if (status !== 201) throw new Error(`the kube-apiserver did not take an object (${status}): ${body.trim()}`);
  }
  show.note(`kube-apiserver ${version}: service and ValidatingWebhookConfiguration made`);

  // The configuration takes a moment to come into force; until then everything is admitted or fails for other reasons.
  const refusal = await waitUntil("the kube-apiserver to ask the webhook", async () => {
    const { body } = await api.post(`${CONFIG_MAPS}?dryRun=All`, configMap("bridge-closed", RULE.refused));
    if (body.includes(RULE.message)) return (JSON.parse(body) as { message: string }).message;
    throw new Error(body.trim());
  });
  show.note(`a config map labelled bridge=closed: ${refusal}`);

  const { status, body, warnings } = await api.post(CONFIG_MAPS, configMap("bridge-open", "open"));
  if (status !== 201 || warnings.length === 0)
    throw new Error(`not admitted by the webhook (${status}): ${body.trim()}`);
  show.note(`a config map labelled bridge=open:   created; warning: ${warnings.join(", ")}`);
}
