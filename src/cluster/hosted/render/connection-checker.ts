/** A few pods that try to reach the kube-apiserver from workers and record when they did. */

import { bindingOf, UNPRIVILEGED } from "../../kube/builders.js";
import type { HostedModel } from "../model/model.js";
import { AGENT_NAMESPACE, names } from "../model/names.js";
import { container, own, type RenderedObject } from "./manifest.js";

const name = names.connectionChecker;

export function connectionCheckerObjects(model: HostedModel): RenderedObject[] {
  if (!model.connectionChecker) return [];
  const resourceNames = [names.connectivityCheck];
  const rules = [{ apiGroups: [""], resources: ["configmaps"], resourceNames, verbs: ["get", "patch"] }];
  return [
    // Its data is written by the checker.
    own(model, "hosted", "ConfigMap", { name: names.connectivityCheck }, {}),
    own(model, "hosted", "ServiceAccount", { name }, {}),
    own(model, "hosted", "Role", { name }, { rules }),
    own(model, "hosted", "RoleBinding", { name }, bindingOf("Role", name, { name, namespace: AGENT_NAMESPACE })),
    deployment(model),
  ];
}

function deployment(model: HostedModel): RenderedObject {
  const labels = { app: name };
  const program = {
    image: model.images.agent.image,
    command: ["/usr/bin/drawbridge", "hosted", "check-connection"],
    resources: { requests: { cpu: "5m", memory: "64Mi" } },
  };
  const pod = {
    serviceAccountName: name,
    tolerations: [{ operator: "Exists" }],
    securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: "RuntimeDefault" } },
    containers: [container(name, program, { securityContext: UNPRIVILEGED })],
  };
  const spec = { replicas: 3, selector: { matchLabels: labels }, template: { metadata: { labels }, spec: pod } };
  return own(model, "hosted", "Deployment", { name, labels }, { spec });
}
