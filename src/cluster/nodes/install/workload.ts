/** A Deployment that can do no harm to its node, and the policy that closes its network but for what it needs. */

import type { KubeManifest } from "../../kube/apply.js";
import { kubeManifest, tcpPort, UNPRIVILEGED } from "../../kube/builders.js";
import { OWNER_LABEL, OWNER_NAME } from "../controller/hypershift.js";

export interface WorkloadProgram {
  readonly args: readonly string[];
  /** The port of the metrics and, without a public port, of the probes. */
  readonly healthPort: number;
  /** An HTTPS port that every network may reach, which also answers /healthz. */
  readonly publicPort?: number;
  readonly volumes?: readonly Volume[];
  /** 256 MiB unless given. */
  readonly memoryLimit?: string;
}

interface Volume {
  readonly name: string;
  readonly path: string;
  readonly source: object;
}

interface WorkloadSettings {
  readonly namespace: string;
  readonly image: string;
  readonly replicas: number;
  readonly apiPorts: readonly number[];
}

/** The image's unprivileged user. */
const USER = 65_532;
const DNS_PORTS = [5353, 53];

export function workload(name: string, settings: WorkloadSettings, program: WorkloadProgram): KubeManifest[] {
  const { namespace } = settings;
  const labels = { [OWNER_LABEL]: OWNER_NAME, app: name };
  const metadata = { name, namespace, labels };
  const template = { metadata: { labels }, spec: pod(name, settings, program) };
  return [
    kubeManifest("NetworkPolicy", metadata, { spec: policy(name, settings, program) }),
    kubeManifest("Deployment", metadata, {
      spec: { replicas: settings.replicas, selector: { matchLabels: { app: name } }, template },
    }),
  ];
}

function policy(name: string, { apiPorts }: WorkloadSettings, { publicPort, healthPort }: WorkloadProgram) {
  const open = (protocol: string) => (port: number) => ({ protocol, port });
  return {
    podSelector: { matchLabels: { app: name } },
    policyTypes: ["Ingress", "Egress"],
    ingress: [
      {
        from: [{ namespaceSelector: { matchLabels: { "network.openshift.io/policy-group": "monitoring" } } }],
        ports: [tcpPort(healthPort)],
      },
      ...(publicPort === undefined ? [] : [{ ports: [tcpPort(publicPort)] }]),
    ],
    // The API server has no pods that a selector could name.
    egress: [
      { ports: apiPorts.map(open("TCP")) },
      { ports: [...DNS_PORTS.map(open("UDP")), ...DNS_PORTS.map(open("TCP"))] },
    ],
  };
}

function pod(
  name: string,
  { image }: WorkloadSettings,
  { args, publicPort, healthPort, memoryLimit = "256Mi", volumes = [] }: WorkloadProgram,
) {
  const probe = (path: string, periodSeconds: number) => ({
    httpGet:
      publicPort === undefined ? { path, port: "health" } : { path: "/healthz", port: "ignition", scheme: "HTTPS" },
    periodSeconds,
  });
  return {
    serviceAccountName: name,
    securityContext: { runAsNonRoot: true, runAsUser: USER, seccompProfile: { type: "RuntimeDefault" } },
    affinity: {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 100,
            podAffinityTerm: { topologyKey: "kubernetes.io/hostname", labelSelector: { matchLabels: { app: name } } },
          },
        ],
      },
    },
    containers: [
      {
        name,
        image,
        imagePullPolicy: "IfNotPresent",
        command: ["/drawbridge"],
        args,
        ports: [
          { name: "health", containerPort: healthPort, protocol: "TCP" },
          ...(publicPort === undefined ? [] : [{ name: "ignition", containerPort: publicPort, protocol: "TCP" }]),
        ],
        livenessProbe: probe("/healthz", 20),
        readinessProbe: probe("/readyz", 10),
        resources: { requests: { cpu: "10m", memory: "96Mi" }, limits: { memory: memoryLimit } },
        securityContext: UNPRIVILEGED,
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: volumes.map(({ name: volume, path }) => ({ name: volume, mountPath: path, readOnly: true })),
      },
    ],
    volumes: volumes.map(({ name: volume, source }) => ({ name: volume, ...source })),
  };
}
