/** What stands in the cluster: the agents, one a node, with their certificates in a namespace of their own. */
import { AGENT_PKI_DIRECTORY, agentArguments } from "../model/arguments.js";
import type { BridgeModel } from "../model/model.js";
import {
  AGENT_CERTS_SECRET,
  AGENT_NAME,
  bootstrapOnlyLabel,
  HOST_NETWORK_SCC,
  placeholders,
  secretKeys,
} from "../model/names.js";
import { agentSecurity } from "./agent-security.js";
import { probes } from "./probes.js";

/** PEM texts. */
export interface AgentCertificates {
  readonly cert: string;
  readonly key: string;
  readonly ca: string;
}

export function agentNamespace(model: BridgeModel) {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: model.namespace,
      labels: { ...bootstrapOnlyLabel, ...agentSecurity(model).namespaceLabels },
    },
  };
}

export function agentSecret(model: BridgeModel, certificates: AgentCertificates | undefined) {
  const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
  const { agentCert, agentKey, ca } = placeholders;
  return {
    apiVersion: "v1",
    kind: "Secret",
    metadata: metadata(model, AGENT_CERTS_SECRET),
    type: "Opaque",
    data: {
      [secretKeys.cert]: certificates ? base64(certificates.cert) : agentCert,
      [secretKeys.key]: certificates ? base64(certificates.key) : agentKey,
      [secretKeys.ca]: certificates ? base64(certificates.ca) : ca,
    },
  };
}

export function agentDaemonSet(model: BridgeModel) {
  const { images, ports } = model;
  const security = agentSecurity(model);
  const labels = { app: AGENT_NAME };
  return {
    apiVersion: "apps/v1",
    kind: "DaemonSet",
    metadata: metadata(model, AGENT_NAME, labels),
    spec: {
      selector: { matchLabels: labels },
      template: {
        metadata: { labels: { ...labels, ...bootstrapOnlyLabel } },
        spec: {
          ...security.pod,
          priorityClassName: "system-node-critical",
          // Nodes under construction carry taints of all kinds, and any of them may be the one that has the webhook.
          tolerations: [{ operator: "Exists" }],
          // An agent that is told to end waits for its tunnels, and upstream's waits longer than any of them takes.
          terminationGracePeriodSeconds: 10,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          containers: [
            {
              name: AGENT_NAME,
              image: images.agent.image,
              imagePullPolicy: "IfNotPresent",
              command: images.agent.command,
              args: agentArguments(model),
              // The server's metrics and log then name nodes.
              env: [{ name: "PROXY_AGENT_ID", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } }],
              resources: images.resources,
              ...probes(ports.agentHealth),
              securityContext: security.container,
              volumeMounts: [{ name: "certificates", mountPath: AGENT_PKI_DIRECTORY, readOnly: true }],
            },
          ],
          volumes: [
            {
              name: "certificates",
              secret: {
                secretName: AGENT_CERTS_SECRET,
                ...(security.secretMode === undefined ? {} : { defaultMode: security.secretMode }),
              },
            },
          ],
        },
      },
    },
  };
}

/** OpenShift admits host-network pods only for service accounts that were given an SCC which allows it. */
export function agentServiceAccount(model: BridgeModel) {
  return { apiVersion: "v1", kind: "ServiceAccount", metadata: metadata(model, AGENT_NAME) };
}

export function agentRoleBinding(model: BridgeModel) {
  const apiGroup = "rbac.authorization.k8s.io";
  return {
    apiVersion: `${apiGroup}/v1`,
    kind: "RoleBinding",
    metadata: metadata(model, AGENT_NAME),
    roleRef: { apiGroup, kind: "ClusterRole", name: HOST_NETWORK_SCC },
    subjects: [{ kind: "ServiceAccount", name: AGENT_NAME, namespace: model.namespace }],
  };
}

function metadata({ namespace }: BridgeModel, name: string, labels: Readonly<Record<string, string>> = {}) {
  return { name, namespace, labels: { ...labels, ...bootstrapOnlyLabel } };
}
