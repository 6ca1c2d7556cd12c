import { randomUUID } from "node:crypto";
import type { Frontend } from "../callers/frontends.js";
import type { WebhookRoute } from "../callers/webhook-client.js";
import type { Show } from "../report/show.js";
import { type AdmissionReview, RULE } from "../webhook/admission.js";

/** What kube-apiserver does when somebody makes a config map, by hand: one that may pass and one that may not. */
export async function reviewThrough(frontend: Frontend, route: WebhookRoute, show: Show): Promise<void> {
  show.note(`${frontend.title}, then TLS to the webhook by its name, then POST /validate`);
  const admitted = await ask(frontend, route, "open");
  if (admitted?.allowed !== true) throw new Error(`the webhook did not admit it: ${JSON.stringify(admitted)}`);
  show.note(`a config map labelled bridge=open:   allowed, ${admitted.warnings?.join(", ")}`);
  const refused = await ask(frontend, route, RULE.refused);
  if (refused?.allowed !== false) throw new Error(`the webhook did not refuse it: ${JSON.stringify(refused)}`);
  show.note(`a config map labelled bridge=closed: refused, ${refused.status?.message}`);
}

async function ask(frontend: Frontend, route: WebhookRoute, bridge: string): Promise<AdmissionReview["response"]> {
  const uid = randomUUID();
  const body = JSON.stringify(configMapReview(uid, bridge));
  const text = await route.text(frontend, "POST", "/validate?timeout=5s", body);
  const { response } = JSON.parse(text) as AdmissionReview;
  if (response?.uid !== uid) throw new Error("the answer belongs to another request");
  return response;
}

function configMapReview(uid: string, bridge: string): object {
  const object = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: `bridge-${bridge}`, namespace: "demo", labels: { [RULE.label]: bridge } },
  };
  return {
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    request: {
      uid,
      kind: { group: "", version: "v1", kind: "ConfigMap" },
      resource: { group: "", version: "v1", resource: "configmaps" },
      name: object.metadata.name,
      namespace: "demo",
      operation: "CREATE",
      userInfo: { username: "demo" },
      object,
      oldObject: null,
      dryRun: false,
    },
  };
}
