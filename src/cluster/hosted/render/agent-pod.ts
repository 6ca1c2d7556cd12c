/** What agents on both sides have in common. */
import type { HostedModel } from "../model/model.js";
import { mounts, names, ports } from "../model/names.js";
import { mountsOf, type Volume, volumesOf } from "./server-container.js";

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
    httpGet: { path, port: ports.health, scheme: "HTTP", ...(onHost ? { host: "127.0.0.1" } : {}) },
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
    securityContext: {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      runAsNonRoot: true,
      capabilities: { drop: ["ALL"] },
    },
    terminationMessagePolicy: "FallbackToLogsOnError",
    volumeMounts: mountsOf(agentVolumeList(pod)),
  };
}

export const agentVolumes = (pod: Pick<AgentPod, "secret" | "caMode">) => volumesOf(agentVolumeList(pod));

function agentVolumeList({ secret, caMode }: Pick<AgentPod, "secret" | "caMode">): Volume[] {
  return [
    { name: "agent-certs", secret, path: mounts.agent, mode: 0o640 },
    { name: "konnectivity-ca", configMap: names.caBundle, path: mounts.ca, mode: caMode },
  ];
}

/** How servers name this agent in metrics and logs. */
export const agentId = (fieldPath: string) => ({ name: "PROXY_AGENT_ID", valueFrom: { fieldRef: { fieldPath } } });
