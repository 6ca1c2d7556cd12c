/** The agents of both sides: one on every node of the hosted cluster, and a few inside the control plane. */

import { type FileVolume, kubeManifest, mountsOf, UNPRIVILEGED, volumesOf } from "../../kube/builders.js";
import type { ProxyUrls } from "../config/config.js";
import { controlPlaneAgentArguments, hostedAgentArguments, isOurs } from "../model/arguments.js";
import { type HostedModel, noProxy } from "../model/model.js";
import { AGENT_NAMESPACE, hypershift, mounts, names } from "../model/names.js";
import { type Certificates, hashAnnotation, readAtStart } from "./certificates.js";
import { container, own, type RenderedObject, type Side } from "./manifest.js";

interface AgentPod {
  readonly args: readonly string[];
  /** The name of the Secret with the agents' certificate. */
  readonly secret: string;
  readonly caMode: number;
  /** Whether the health port is on loopback only. */
  readonly onHost?: boolean;
  readonly env: readonly object[];
  readonly labels: Readonly<Record<string, string>>;
  /** Further fields of the pod's specification. */
  readonly spec: object;
}

/**
 * How long an agent that had every server stays ready without one of them: a DaemonSet replaces agents that are not ready
 * all at once, whatever its maxUnavailable is. A kube-apiserver whose node is lost is away for about six minutes.
 */
const AWAY_SECONDS = 600;

/** The pod template of an agent on either side. */
function agentTemplate(model: HostedModel, certificates: Certificates | undefined, pod: AgentPod) {
  const { args, env, labels, secret } = pod;
  const files: FileVolume[] = [
    { name: "agent-certs", secret, path: mounts.agent, mode: 0o640 },
    { name: "konnectivity-ca", configMap: names.caBundle, path: mounts.ca, mode: pod.caMode },
  ];
  const probe = (path: string, periodSeconds: number, failureThreshold: number) => ({
    httpGet: { path, port: model.ports.health, scheme: "HTTP", ...(pod.onHost ? { host: "127.0.0.1" } : {}) },
    periodSeconds,
    timeoutSeconds: 5,
    failureThreshold,
  });
  const agent = container(names.agent, model.images.agent, {
    args,
    env,
    startupProbe: probe("/healthz", 5, 60),
    livenessProbe: probe("/healthz", 30, 6),
    readinessProbe: isOurs(model) ? probe("/readyz", 5, AWAY_SECONDS / 5) : probe("/readyz", 30, 1),
    securityContext: { ...UNPRIVILEGED, runAsNonRoot: true },
    volumeMounts: mountsOf(files),
  });
  return {
    metadata: { labels, annotations: hashAnnotation(certificates, readAtStart(model, [secret])) },
    spec: {
      serviceAccountName: names.agent,
      automountServiceAccountToken: false,
      enableServiceLinks: false,
      ...pod.spec,
      containers: [agent],
      volumes: volumesOf(files),
    },
  };
}

/** The name of this agent in the servers' metrics and logs. */
const agentId = (fieldPath: string) => ({ name: "PROXY_AGENT_ID", valueFrom: { fieldRef: { fieldPath } } });

const serviceAccount = (model: HostedModel, side: Side, labels: Readonly<Record<string, string>>) =>
  own(model, side, "ServiceAccount", { name: names.agent, labels }, { automountServiceAccountToken: false });

const selector = { app: names.agent };

/** The hosted cluster's side: an agent on every node. */
export function hostedAgentObjects(model: HostedModel, certificates: Certificates | undefined): RenderedObject[] {
  const template = agentTemplate(model, certificates, {
    args: hostedAgentArguments(model),
    secret: names.agent,
    caMode: 0o640,
    onHost: model.agentHostNetwork,
    // Workers may have to leave their network through a proxy to reach the server.
    env: [agentId("spec.nodeName"), ...(model.proxy ? proxyVariables(model.proxy, noProxy(model)) : [])],
    labels: selector,
    spec: {
      dnsPolicy: dnsPolicy(model),
      ...(model.agentHostNetwork ? { hostNetwork: true } : {}),
      priorityClassName: "system-node-critical",
      tolerations: [{ operator: "Exists" }],
      // Root's group may read the certificates.
      securityContext: { runAsUser: 1000, runAsGroup: 0, seccompProfile: { type: "RuntimeDefault" } },
    },
  });
  const updateStrategy = { type: "RollingUpdate", rollingUpdate: { maxUnavailable: "10%", maxSurge: 0 } };
  const spec = { selector: { matchLabels: selector }, updateStrategy, template };
  return [
    ...(model.agentHostNetwork ? [namespaceLabels()] : []),
    serviceAccount(model, "hosted", {}),
    own(model, "hosted", "DaemonSet", { name: names.agent, labels: selector }, { spec }),
  ];
}

/** The nodes' resolver is there before the cluster's own; IBM Cloud's UPI is an exception of HyperShift's. */
const dnsPolicy = ({ platform }: HostedModel): string =>
  platform?.type === "IBMCloud" && platform.providerType === "UPI" ? "ClusterFirst" : "Default";

/** Host-network pods are refused elsewhere, and OpenShift would set these labels back. */
function namespaceLabels(): RenderedObject {
  const level = ["enforce", "audit", "warn"].map((mode) => [`pod-security.kubernetes.io/${mode}`, "privileged"]);
  const labels = { "security.openshift.io/scc.podSecurityLabelSync": "false", ...Object.fromEntries(level) };
  return { side: "hosted", manifest: kubeManifest("Namespace", { name: AGENT_NAMESPACE, labels }), isBorrowed: true };
}

const USER = 1001;

/** Agents inside the control plane: for API servers that run there, of which the hosted cluster only has the names. */
export function controlPlaneAgentObjects(model: HostedModel, certificates: Certificates | undefined): RenderedObject[] {
  const { replicas, secret } = model.controlPlaneAgents;
  if (replicas === 0) return [];
  const template = agentTemplate(model, certificates, {
    args: controlPlaneAgentArguments(model),
    secret,
    caMode: 0o644,
    env: [agentId("metadata.name")],
    labels: {
      ...selector,
      [hypershift.component]: names.agent,
      [hypershift.hostedControlPlane]: model.namespace,
    },
    spec: {
      ...(model.priorityClass === undefined ? {} : { priorityClassName: model.priorityClass }),
      tolerations: tolerations(model),
      affinity: affinity(model),
      securityContext: {
        seccompProfile: { type: "RuntimeDefault" },
        ...(model.managementChoosesUsers ? {} : { runAsUser: USER, fsGroup: USER }),
      },
    },
  });
  const spec = {
    replicas,
    revisionHistoryLimit: 2,
    selector: { matchLabels: selector },
    strategy: { type: "RollingUpdate", rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } },
    template,
  };
  return [
    serviceAccount(model, "control-plane", { "kubernetes.io/cluster-service": "true" }),
    own(model, "control-plane", "Deployment", { name: names.agent, labels: selector }, { spec }),
  ];
}

/** Labels and taints of nodes that are reserved for control planes, or for this one. */
const reserved = ({ namespace }: HostedModel): [key: string, value: string][] => [
  [hypershift.controlPlane, "true"],
  [hypershift.cluster, namespace],
];

const tolerations = (model: HostedModel) =>
  reserved(model).map(([key, value]) => ({ key, operator: "Equal", value, effect: "NoSchedule" }));

function affinity(model: HostedModel) {
  const [zone, host] = ["topology.kubernetes.io/zone", "kubernetes.io/hostname"];
  const near = (matchLabels: object, topologyKey: string) => ({ labelSelector: { matchLabels }, topologyKey });
  const nodes = reserved(model).map(([key, value], index) => ({
    weight: index === 0 ? 50 : 100,
    preference: { matchExpressions: [{ key, operator: "In", values: [value] }] },
  }));
  const controlPlane = near({ [hypershift.hostedControlPlane]: model.namespace }, host);
  const preferred = [{ weight: 100, podAffinityTerm: controlPlane }];
  // Not required: in one zone, or on two nodes with the third pod of a roll-out, there is no other place.
  const apart = [zone, host].map((key) => ({ weight: 100, podAffinityTerm: near(selector, key) }));
  return {
    nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: nodes },
    podAffinity: { preferredDuringSchedulingIgnoredDuringExecution: preferred },
    ...(model.controlPlaneAgents.replicas > 1 && {
      podAntiAffinity: { preferredDuringSchedulingIgnoredDuringExecution: apart },
    }),
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
