/** Agents inside the control plane: for API servers that run there, of which the hosted cluster only has the names. */
import { controlPlaneAgentArguments } from "../model/arguments.js";
import type { HostedModel } from "../model/model.js";
import { hypershift, names } from "../model/names.js";
import { type AgentPod, agentContainer, agentId, agentVolumes } from "./agent-pod.js";
import { type Certificates, certificateHash } from "./certificates.js";
import { own, type RenderedObject } from "./manifest.js";

const USER = 1001;

export function controlPlaneAgentObjects(model: HostedModel, certificates: Certificates | undefined): RenderedObject[] {
  if (model.controlPlaneAgents.replicas === 0) return [];
  const labels = { "kubernetes.io/cluster-service": "true" };
  return [
    own(
      model,
      "control-plane",
      { apiVersion: "v1", kind: "ServiceAccount", name: names.agent, labels },
      { automountServiceAccountToken: false },
    ),
    agentDeployment(model, certificates),
  ];
}

function agentDeployment(model: HostedModel, certificates: Certificates | undefined): RenderedObject {
  const { replicas, secret } = model.controlPlaneAgents;
  const selector = { app: names.agent };
  const labels = {
    ...selector,
    [hypershift.component]: names.agent,
    [hypershift.hostedControlPlane]: model.namespace,
  };
  const pod: AgentPod = {
    args: controlPlaneAgentArguments(model),
    secret,
    caMode: 0o644,
    onHost: false,
    env: [agentId("metadata.name")],
  };
  const annotations =
    model.images.reloads || certificates === undefined
      ? {}
      : { [hypershift.configHash]: certificateHash(certificates, [secret]) };
  const head = { apiVersion: "apps/v1", kind: "Deployment", name: names.agent, labels: selector };
  return own(model, "control-plane", head, {
    spec: {
      replicas,
      revisionHistoryLimit: 2,
      selector: { matchLabels: selector },
      strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
      template: {
        metadata: { labels, annotations },
        spec: {
          serviceAccountName: names.agent,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          ...(model.priorityClass === undefined ? {} : { priorityClassName: model.priorityClass }),
          tolerations: tolerations(model),
          affinity: affinity(model, selector),
          securityContext: {
            seccompProfile: { type: "RuntimeDefault" },
            ...(model.managementChoosesUsers ? {} : { runAsUser: USER, fsGroup: USER }),
          },
          containers: [agentContainer(model, pod)],
          volumes: agentVolumes(pod),
        },
      },
    },
  });
}

/** Nodes may be set apart for control planes, or for this one. */
const reserved = ({ namespace }: HostedModel): [key: string, value: string][] => [
  [hypershift.controlPlane, "true"],
  [hypershift.cluster, namespace],
];

const tolerations = (model: HostedModel) =>
  reserved(model).map(([key, value]) => ({ key, operator: "Equal", value, effect: "NoSchedule" }));

function affinity(model: HostedModel, selector: Readonly<Record<string, string>>) {
  const { replicas } = model.controlPlaneAgents;
  const apart = (topologyKey: string) => ({ labelSelector: { matchLabels: selector }, topologyKey });
  const together = {
    labelSelector: { matchLabels: { [hypershift.hostedControlPlane]: model.namespace } },
    topologyKey: "kubernetes.io/hostname",
  };
  return {
    nodeAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: reserved(model).map(([key, value], index) => ({
        weight: index === 0 ? 50 : 100,
        preference: { matchExpressions: [{ key, operator: "In", values: [value] }] },
      })),
    },
    podAffinity: {
      preferredDuringSchedulingIgnoredDuringExecution: [{ weight: 100, podAffinityTerm: together }],
    },
    ...(replicas > 1
      ? {
          podAntiAffinity: {
            requiredDuringSchedulingIgnoredDuringExecution: [
              apart("topology.kubernetes.io/zone"),
              apart("kubernetes.io/hostname"),
            ],
          },
        }
      : {}),
  };
}
