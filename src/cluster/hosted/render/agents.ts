/** The agents of both sides: one on every node of the hosted cluster, and a few inside the control plane. */

import { type FileVolume, kubeManifest, mountsOf, UNPRIVILEGED, volumesOf } from "../../kube/builders.js";
import type { ProxyUrls } from "../config/config.js";
import { controlPlaneAgentArguments, hostedAgentArguments } from "../model/arguments.js";
import { type HostedModel, noProxy } from "../model/model.js";
import { AGENT_NAMESPACE, hostedPorts, hypershift, mounts, names } from "../model/names.js";
import { type Certificates, certificateHash } from "./certificates.js";
import { own, type RenderedObject } from "./manifest.js";

export interface AgentPod {
  readonly args: readonly string[];
  /** With their certificate. */
  readonly secret: string;
  readonly caMode: number;
  /** The health port is on loopback only. */
  readonly onHost: boolean;
  readonly env: readonly object[];
}

export function agentContainer(model: HostedModel, { args, onHost, env, ...pod }: AgentPod) {
  const { image, command, resources } = model.images.agent;
  const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
    httpGet: { path, port: hostedPorts.health, scheme: "HTTP", ...(onHost ? { host: "127.0.0.1" } : {}) },
    periodSeconds,
    timeoutSeconds: 5,
    failureThreshold,
  });
  return {
    name: names.agent,
    image,
    imagePullPolicy: "IfNotPresent",
    command,
    args,
    env,
    resources,
    startupProbe: probe("/healthz", 5, 60),
    livenessProbe: probe("/healthz", 30, 6),
    readinessProbe: probe("/readyz", 30, 1),
    securityContext: { ...UNPRIVILEGED, runAsNonRoot: true },
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: mountsOf(agentVolumeList(pod)),
  };
}

export const agentVolumes = (pod: Pick<AgentPod, "secret" | "caMode">) => volumesOf(agentVolumeList(pod));

function agentVolumeList({ secret, caMode }: Pick<AgentPod, "secret" | "caMode">): FileVolume[] {
  return [
    { name: "agent-certs", secret, path: mounts.agent, mode: 0o640 },
    { name: "konnectivity-ca", configMap: names.caBundle, path: mounts.ca, mode: caMode },
  ];
}

/** How servers name this agent in metrics and logs. */
export const agentId = (fieldPath: string) => ({ name: "PROXY_AGENT_ID", valueFrom: { fieldRef: { fieldPath } } });

// The hosted cluster's side: an agent on every node.

/** Root's group may read the certificates. */
const user = { runAsUser: 1000, runAsGroup: 0 };

export function hostedAgentObjects(model: HostedModel, certificates: Certificates | undefined): RenderedObject[] {
  return [
    ...(model.agentHostNetwork ? [namespaceLabels()] : []),
    own(model, "hosted", "ServiceAccount", { name: names.agent }, { automountServiceAccountToken: false }),
    daemonSet(model, certificates),
  ];
}

/** Host-network pods are refused elsewhere, and OpenShift would set these labels back. */
function namespaceLabels(): RenderedObject {
  const level = ["enforce", "audit", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "privileged"]);
  const labels = { "security.openshift.io/scc.podSecurityLabelSync": "false", ...Object.fromEntries(level) };
  return { side: "hosted", manifest: kubeManifest("Namespace", { name: AGENT_NAMESPACE, labels }), isBorrowed: true };
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
    "DaemonSet",
    { name: names.agent, labels },
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

// Agents inside the control plane: for API servers that run there, of which the hosted cluster only has the names.

const USER = 1001;

export function controlPlaneAgentObjects(model: HostedModel, certificates: Certificates | undefined): RenderedObject[] {
  if (model.controlPlaneAgents.replicas === 0) return [];
  const labels = { "kubernetes.io/cluster-service": "true" };
  return [
    own(
      model,
      "control-plane",
      "ServiceAccount",
      { name: names.agent, labels },
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
  return own(
    model,
    "control-plane",
    "Deployment",
    { name: names.agent, labels: selector },
    {
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
    },
  );
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

/** A proxy's URL from its Secret, so that it is in no pod's specification. */
export const fromSecret = (name: string, key: ProxyKey) => ({ valueFrom: { secretKeyRef: { name, key } } });

type ProxyKey = "httpProxy" | "httpsProxy";

export function proxyVariables({ http, https, secret }: ProxyUrls, noProxy: string) {
  const url = (key: ProxyKey, value: string) => (secret === undefined ? { value } : fromSecret(secret, key));
  return [
    { name: "HTTP_PROXY", ...url("httpProxy", http) },
    { name: "HTTPS_PROXY", ...url("httpsProxy", https) },
    { name: "NO_PROXY", value: noProxy },
  ];
}
