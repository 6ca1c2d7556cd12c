/** The hosted cluster's side: an agent on every node. */
import { hostedAgentArguments } from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";
import { AGENT_NAMESPACE, hypershift, names } from "../model/names.js";
import { noProxy } from "../model/no-proxy.js";
import { type AgentPod, agentContainer, agentId, agentVolumes } from "./agent-pod.js";
import { type Certificates, certificateHash } from "./certificates.js";
import { own, type RenderedObject } from "./manifest.js";
import { proxyVariables } from "./proxy-variables.js";

/** Root's group may read the certificates. */
const user = { runAsUser: 1000, runAsGroup: 0 };

export function hostedAgentObjects(model: HostedModel, certificates: Certificates | undefined): RenderedObject[] {
  return [
    ...(model.agentHostNetwork ? [namespaceLabels()] : []),
    own(
      model,
      "hosted",
      { apiVersion: "v1", kind: "ServiceAccount", name: names.agent },
      { automountServiceAccountToken: false },
    ),
    daemonSet(model, certificates),
  ];
}

/** Host-network pods are refused elsewhere, and OpenShift would set these labels back. */
function namespaceLabels(): RenderedObject {
  const level = ["enforce", "audit", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "privileged"]);
  const labels = { "security.openshift.io/scc.podSecurityLabelSync": "false", ...Object.fromEntries(level) };
  const manifest = { apiVersion: "v1", kind: "Namespace", metadata: { name: AGENT_NAMESPACE, labels } };
  return { side: "hosted", manifest, isBorrowed: true };
}

function daemonSet(model: HostedModel, certificates: Certificates | undefined): RenderedObject {
  const labels = { app: names.agent };
  const pod: AgentPod = {
    args: hostedAgentArguments(model),
    secret: names.agent,
    caMode: 0o640,
    onHost: model.agentHostNetwork,
    // Workers may have to leave their network through a proxy to reach the server.
    env: [agentId("spec.nodeName"), ...(model.proxy ? proxyVariables(model.proxy, noProxy(model)) : [])],
  };
  const annotations =
    model.images.reloads || certificates === undefined
      ? {}
      : { [hypershift.configHash]: certificateHash(certificates, [names.agent]) };
  return own(
    model,
    "hosted",
    { apiVersion: "apps/v1", kind: "DaemonSet", name: names.agent, labels },
    {
      spec: {
        selector: { matchLabels: labels },
        updateStrategy: { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%", maxSurge: 0 } },
        template: {
          metadata: { labels, annotations },
          spec: {
            // The nodes' resolver is there before the cluster's own.
            ...(model.agentHostNetwork ? { hostNetwork: true, dnsPolicy: "Default" } : {}),
            serviceAccountName: names.agent,
            automountServiceAccountToken: false,
            enableServiceLinks: false,
            priorityClassName: "system-node-critical",
            tolerations: [{ operator: "Exists" }],
            securityContext: { ...user, seccompProfile: { type: "RuntimeDefault" } },
            containers: [agentContainer(model, pod)],
            volumes: agentVolumes(pod),
          },
        },
      },
    },
  );
}
