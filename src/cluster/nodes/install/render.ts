/** Everything that pools need in a cluster, as objects: the resource, and what runs for it with no more rights than it needs. */
import { applyObject, type KubeManifest, type ObjectOutcome } from "../../kube/apply.js";
import { bindingOf, kubeManifest, tcpPort, UNPRIVILEGED, yamlText } from "../../kube/builders.js";
import { find } from "../../kube/objects.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { CRD_NAME, OWNER_LABEL, OWNER_NAME, refuseBesideHyperShift } from "../controller/hypershift.js";
import { SERVING_CERTIFICATE_SECRET } from "../objects.js";
import {
  APPROVER_NAME,
  clusterRules as approverClusterRules,
  namespaceRules as approverNamespaceRules,
  CONTROLLER_NAME,
  controllerClusterRules,
  controllerNamespaceRules,
  inventoryRule,
  type PolicyRule,
  servingAndClaimRules,
} from "../permissions.js";
import { nodePoolSchema } from "../pool/node-pool.js";

export const INSTALL_COMPONENTS = ["controller", "approver", "ignition"] as const;
export type InstallComponent = (typeof INSTALL_COMPONENTS)[number];

export interface InstallConfig {
  readonly namespace: string;
  readonly image: string;
  readonly components: readonly InstallComponent[];
  readonly replicas: number;
  /** Ports at which pods reach the API server. */
  readonly apiPorts: readonly number[];
  /** Further flags of the approver, such as --node-cidr. */
  readonly approverArgs: readonly string[];
  /** Type of the Service by which machines reach the Ignition server. */
  readonly ignitionService: "ClusterIP" | "NodePort" | "LoadBalancer";
}

const labels = { [OWNER_LABEL]: OWNER_NAME };
const HEALTH_PORT = 8080;

const column = (name: string, jsonPath: string) => ({ name, type: "string", jsonPath });
const conditionColumn = (name: string, type: string) => column(name, `.status.conditions[?(@.type=="${type}")].status`);

/** The NodePool resource for clusters without HyperShift. */
const nodePoolResource: KubeManifest = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: CRD_NAME, labels: { [OWNER_LABEL]: OWNER_NAME } },
  spec: {
    group: "hypershift.openshift.io",
    scope: "Namespaced",
    names: {
      kind: "NodePool",
      listKind: "NodePoolList",
      plural: "nodepools",
      singular: "nodepool",
      shortNames: ["np"],
    },
    versions: [
      {
        name: "v1beta1",
        served: true,
        storage: true,
        subresources: { status: {} },
        additionalPrinterColumns: [
          column("Cluster", ".spec.clusterName"),
          column("Version", ".status.version"),
          conditionColumn("Config", "ValidMachineConfig"),
          conditionColumn("Payload", "ValidGeneratedPayload"),
          conditionColumn("Reached", "ReachedIgnitionEndpoint"),
        ],
        schema: { openAPIV3Schema: nodePoolSchema },
      },
    ],
  },
};

export function renderInstall(config: InstallConfig): KubeManifest[] {
  const restricted = { ...labels, "pod-security.kubernetes.io/enforce": "restricted" };
  const namespace = kubeManifest("Namespace", { name: config.namespace, labels: restricted });
  // Where machines join there need be no pools: the approver may be alone there.
  const resources = config.components.includes("controller") ? [nodePoolResource] : [];
  return [namespace, ...resources, ...config.components.flatMap((part) => partOf(part, config))];
}

function partOf(part: InstallComponent, config: InstallConfig): KubeManifest[] {
  const { namespace } = config;
  const shared = [`--namespace=${namespace}`, `--health-port=${HEALTH_PORT}`];
  if (part === "controller") {
    // The Ignition server in the same installation needs a certificate, which the controller issues unless one exists.
    const issues = config.components.includes("ignition") ? ["--issue-certificate"] : [];
    const args = ["nodepool", "controller", ...shared, ...issues];
    return [
      ...account(CONTROLLER_NAME, namespace, controllerClusterRules, controllerNamespaceRules),
      ...workload(CONTROLLER_NAME, config, { args, healthPort: HEALTH_PORT }),
    ];
  }
  if (part === "ignition") {
    return [
      ...account(IGNITION_SERVER_NAME, namespace, [], ignitionServerRules),
      ignitionService(namespace, config.ignitionService),
      ...workload(IGNITION_SERVER_NAME, config, ignitionServerProgram(namespace)),
    ];
  }
  const args = ["csr", "approver", ...shared, ...config.approverArgs];
  return [
    ...account(APPROVER_NAME, namespace, approverClusterRules, [...approverNamespaceRules, inventoryRule]),
    ...workload(APPROVER_NAME, config, { args, healthPort: HEALTH_PORT }),
  ];
}

function account(
  name: string,
  namespace: string,
  clusterRules: readonly PolicyRule[],
  rules: readonly PolicyRule[],
): KubeManifest[] {
  const metadata = { name, namespace, labels };
  // Two installations in different namespaces must not share a binding.
  const clusterWide = { name: `${name}.${namespace}`, labels };
  const ofCluster = [
    kubeManifest("ClusterRole", clusterWide, { rules: clusterRules }),
    kubeManifest("ClusterRoleBinding", clusterWide, bindingOf("ClusterRole", clusterWide.name, { name, namespace })),
  ];
  return [
    kubeManifest("ServiceAccount", metadata),
    ...(clusterRules.length === 0 ? [] : ofCluster),
    kubeManifest("Role", metadata, { rules }),
    kubeManifest("RoleBinding", metadata, bindingOf("Role", name, { name, namespace })),
  ];
}

/** Objects as one YAML stream, for kubectl or a repository. */
export function installStream(manifests: readonly KubeManifest[]): string {
  return manifests.map((each) => yamlText(each)).join("---\n");
}

const FIELD_MANAGER = "drawbridge-nodepool";

/** Brings a cluster in line with what pools need, unless they are HyperShift's. */
export async function applyInstall(
  api: KubeApi,
  manifests: readonly KubeManifest[],
  { force }: { readonly force: boolean },
): Promise<ObjectOutcome[]> {
  await refuseBesideHyperShift(api);
  const outcomes: ObjectOutcome[] = [];
  for (const manifest of manifests) {
    // The labels of an existing namespace are not changed.
    const isKept = manifest.kind === "Namespace" && (await find(api, objectPath(manifest))) !== undefined;
    outcomes.push(
      isKept
        ? { object: titleOf(manifest), action: "unchanged" }
        : await applyObject(api, manifest, { fieldManager: FIELD_MANAGER, force }),
    );
  }
  return outcomes;
}

export const IGNITION_SERVER_NAME = "drawbridge-ignition-server";

/** Written by the operator: payload.yaml, which says how payloads are made, and the files that it names. */
export const PAYLOAD_CONFIG_MAP = "drawbridge-ignition-payload";

/** The label that it gives this ConfigMap makes an approver beside it read the claims. */
export const CLAIMS_CONFIG_MAP = "drawbridge-claims";
const CERTIFICATE_PATH = "/var/run/secrets/ignition/serving-cert";
const PAYLOAD_PATH = "/etc/drawbridge/payload";
const IGNITION_PORT = 9090;

export const ignitionServerRules = servingAndClaimRules(CLAIMS_CONFIG_MAP);

/** The Ignition server as it runs in a cluster. */
function ignitionServerProgram(namespace: string): WorkloadProgram {
  return {
    args: [
      ...["ignition", "serve", `--namespace=${namespace}`],
      ...[`--addr=0.0.0.0:${IGNITION_PORT}`, `--metrics-addr=0.0.0.0:${HEALTH_PORT}`],
      ...[`--payload=${PAYLOAD_PATH}/payload.yaml`, `--claims-configmap=${namespace}/${CLAIMS_CONFIG_MAP}`],
    ],
    healthPort: HEALTH_PORT,
    publicPort: IGNITION_PORT,
    // Two thousand machines at once take half of that.
    memoryLimit: "512Mi",
    volumes: [
      { name: "serving-cert", path: CERTIFICATE_PATH, source: { secret: { secretName: SERVING_CERTIFICATE_SECRET } } },
      { name: "payload", path: PAYLOAD_PATH, source: { configMap: { name: PAYLOAD_CONFIG_MAP } } },
    ],
  };
}

/** Machines connect from outside the cluster; the cluster's owner chooses by which type of Service. */
function ignitionService(namespace: string, type: string): KubeManifest {
  const ports = [{ name: "ignition", port: 443, targetPort: "ignition", protocol: "TCP" }];
  const spec = { type, selector: { app: IGNITION_SERVER_NAME }, ports };
  return kubeManifest("Service", { name: IGNITION_SERVER_NAME, namespace, labels }, { spec });
}

interface WorkloadProgram {
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

/** A Deployment that can do no harm to its node, and the policy that closes its network but for what it needs. */
function workload(name: string, settings: WorkloadSettings, program: WorkloadProgram): KubeManifest[] {
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
