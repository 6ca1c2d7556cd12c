/** Everything that pools need in a cluster, as objects: the resource, and what runs for it with no more rights than it needs. */
import { applyObject, type KubeManifest, type ObjectOutcome } from "../../kube/apply.js";
import {
  bindingOf,
  type FileVolume,
  kubeManifest,
  mountsOf,
  tcpPort,
  UNPRIVILEGED,
  volumesOf,
  yamlText,
} from "../../kube/builders.js";
import { find } from "../../kube/objects.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { CRD_NAME, OWNER_LABEL, OWNER_NAME, refuseBesideHyperShift } from "../controller/hypershift.js";
import { BOOTSTRAPPER } from "../csr/request-context.js";
import { SERVING_CERTIFICATE_SECRET } from "../objects.js";
import {
  APPROVER_NAME,
  clusterRules as approverClusterRules,
  namespaceRules as approverNamespaceRules,
  BOOTSTRAP_TOKEN_ROLE_NAME,
  bootstrapTokenRules,
  CONTROLLER_NAME,
  controllerClusterRules,
  controllerNamespaceRules,
  inventoryRules,
  MACHINES_ROLE_NAME,
  machineControllerClusterRules,
  machineControllerRules,
  type PolicyRule,
  servingAndClaimRules,
  WORKERS_ROLE_NAME,
  workersRules,
} from "../permissions.js";
import { nodePoolSchema } from "../pool/node-pool.js";
import { INSTALL_MANAGER, workerResource } from "../workers/resource.js";

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
  /** Secret with the kubeconfig of the cluster that machines join; empty: it is this one. */
  readonly hostedKubeconfigSecret: string;
  /** Type of the Service by which machines reach the Ignition server. */
  readonly ignitionService: "ClusterIP" | "NodePort" | "LoadBalancer";
  /** Its port on every node; undefined: the cluster chooses one where the type has any. */
  readonly ignitionNodePort?: number | undefined;
}

const labels = { [OWNER_LABEL]: OWNER_NAME };

const column = (name: string, jsonPath: string, type = "string") => ({ name, type, jsonPath });
const conditionColumn = (name: string, type: string, field = "status") =>
  column(name, `.status.conditions[?(@.type=="${type}")].${field}`);
/** Shown by \`kubectl get -o wide\`. */
const wide = (shown: ReturnType<typeof column>) => ({ ...shown, priority: 1 });

/** The NodePool resource for clusters without HyperShift. */
const nodePoolResource = kubeManifest(
  "CustomResourceDefinition",
  { name: CRD_NAME, labels },
  {
    spec: {
      ...{ group: "hypershift.openshift.io", scope: "Namespaced" },
      names: {
        kind: "NodePool",
        listKind: "NodePoolList",
        plural: "nodepools",
        singular: "nodepool",
        shortNames: ["np"],
      },
      versions: [
        {
          ...{ name: "v1beta1", served: true, storage: true },
          subresources: {
            status: {},
            scale: { specReplicasPath: ".spec.replicas", statusReplicasPath: ".status.replicas" },
          },
          // HyperShift's, in its order, and some more.
          additionalPrinterColumns: [
            column("Cluster", ".spec.clusterName"),
            column("Desired Nodes", ".spec.replicas", "integer"),
            column("Current Nodes", ".status.replicas", "integer"),
            conditionColumn("Autoscaling", "AutoscalingEnabled"),
            conditionColumn("Autorepair", "AutorepairEnabled"),
            column("Version", ".status.version"),
            conditionColumn("UpdatingVersion", "UpdatingVersion"),
            conditionColumn("UpdatingConfig", "UpdatingConfig"),
            conditionColumn("Ready", "Ready"),
            conditionColumn("Message", "Ready", "message"),
            wide(conditionColumn("Config", "ValidMachineConfig")),
            wide(conditionColumn("Payload", "ValidGeneratedPayload")),
            wide(conditionColumn("Reached", "ReachedIgnitionEndpoint")),
          ],
          schema: { openAPIV3Schema: nodePoolSchema },
        },
      ],
    },
  },
);

export const IGNITION_SERVER_NAME = "drawbridge-ignition-server";

/** Written by the operator: payload.yaml, which says how payloads are made, and the files that it names. */
export const PAYLOAD_CONFIG_MAP = "drawbridge-ignition-payload";

/** The label that it gives this ConfigMap makes an approver beside it read the claims. */
export const CLAIMS_CONFIG_MAP = "drawbridge-claims";
const HOSTED_PATH = "/var/run/secrets/hosted";
const CERTIFICATE_PATH = "/var/run/secrets/ignition/serving-cert";
const PAYLOAD_PATH = "/etc/drawbridge/payload";
const IGNITION_PORT = 9090;
/** The port of the metrics and, without a public port, of the probes. */
const HEALTH_PORT = 8080;

export const ignitionServerRules = servingAndClaimRules(CLAIMS_CONFIG_MAP);

/** A program that runs in the cluster, and its rights. */
interface Program {
  readonly name: string;
  readonly args: readonly string[];
  readonly rules: readonly PolicyRule[];
  readonly clusterRules?: readonly PolicyRule[];
  /** An HTTPS port that every network may reach, which also answers /healthz. */
  readonly publicPort?: number;
  readonly volumes?: readonly FileVolume[];
  /** 256 MiB unless given. */
  readonly memoryLimit?: string;
}

const programs: Readonly<Record<InstallComponent, (config: InstallConfig) => Program>> = {
  controller: ({ components, hostedKubeconfigSecret, namespace }) => ({
    name: CONTROLLER_NAME,
    args: [
      ...["nodepool", "controller", `--namespace=${namespace}`, `--health-port=${HEALTH_PORT}`],
      // The Ignition server in the same installation needs a certificate, which the controller issues unless one exists.
      ...(components.includes("ignition") ? ["--issue-certificate"] : []),
      "--issue-bootstrap-kubeconfig",
      ...(hostedKubeconfigSecret === "" ? [] : [`--hosted-kubeconfig=${HOSTED_PATH}/kubeconfig`]),
    ],
    volumes:
      hostedKubeconfigSecret === ""
        ? []
        : [{ name: "hosted-kubeconfig", path: HOSTED_PATH, secret: hostedKubeconfigSecret, mode: 0o644 }],
    rules: controllerNamespaceRules,
    clusterRules: controllerClusterRules,
  }),
  approver: ({ approverArgs, namespace }) => ({
    name: APPROVER_NAME,
    args: ["csr", "approver", `--namespace=${namespace}`, `--health-port=${HEALTH_PORT}`, ...approverArgs],
    rules: [...approverNamespaceRules, ...inventoryRules],
    clusterRules: approverClusterRules,
  }),
  ignition: ({ namespace }) => ({
    name: IGNITION_SERVER_NAME,
    args: [
      ...["ignition", "serve", `--namespace=${namespace}`],
      ...[`--addr=0.0.0.0:${IGNITION_PORT}`, `--metrics-addr=0.0.0.0:${HEALTH_PORT}`],
      ...[`--payload=${PAYLOAD_PATH}/payload.yaml`, `--claims-configmap=${namespace}/${CLAIMS_CONFIG_MAP}`],
    ],
    rules: ignitionServerRules,
    publicPort: IGNITION_PORT,
    // Two thousand machines at once take half of that.
    memoryLimit: "512Mi",
    volumes: [
      { name: "serving-cert", path: CERTIFICATE_PATH, secret: SERVING_CERTIFICATE_SECRET, mode: 0o644 },
      { name: "payload", path: PAYLOAD_PATH, configMap: PAYLOAD_CONFIG_MAP },
    ],
  }),
};

export function renderInstall(config: InstallConfig): KubeManifest[] {
  const restricted = { ...labels, "pod-security.kubernetes.io/enforce": "restricted" };
  const namespace = kubeManifest("Namespace", { name: config.namespace, labels: restricted });
  // Where machines join there need be no pools: the approver may be alone there.
  const resources = [
    ...(config.components.includes("controller") ? [nodePoolResource] : []),
    ...(config.components.includes("approver") ? [workerResource] : []),
  ];
  return [
    namespace,
    ...resources,
    ...unboundRoles(config),
    ...bootstrapAccess(config),
    ...config.components.flatMap((part) => manifestsOf(programs[part](config), config)),
  ];
}

/** For whoever makes workers, by hand or with `drawbridge workers controller`, in the clusters of pools and of Workers. */
function unboundRoles({ components, namespace }: InstallConfig): KubeManifest[] {
  const role = (name: string, rules: readonly PolicyRule[]) =>
    kubeManifest("Role", { name, namespace, labels }, { rules });
  const isJoined = components.includes("approver");
  const everywhere = { name: `${MACHINES_ROLE_NAME}.${namespace}`, labels };
  return [
    ...(isJoined ? [role(WORKERS_ROLE_NAME, workersRules)] : []),
    ...(isJoined || components.includes("controller") ? [role(MACHINES_ROLE_NAME, machineControllerRules)] : []),
    ...(isJoined ? [kubeManifest("ClusterRole", everywhere, { rules: machineControllerClusterRules })] : []),
  ];
}

/** The identity of machines that have no certificate yet, and who may have tokens of it. */
function bootstrapAccess({ components, hostedKubeconfigSecret, namespace }: InstallConfig): KubeManifest[] {
  const isController = components.includes("controller") && hostedKubeconfigSecret === "";
  if (!isController && !components.includes("approver")) return [];
  const account = { ...BOOTSTRAPPER, labels };
  const role = { name: BOOTSTRAP_TOKEN_ROLE_NAME, namespace: BOOTSTRAPPER.namespace, labels };
  const binding = { ...role, name: `${role.name}.${namespace}` };
  const clusterWide = { name: `drawbridge-${BOOTSTRAPPER.name}`, labels };
  return [
    kubeManifest("Namespace", { name: BOOTSTRAPPER.namespace, labels }),
    kubeManifest("ServiceAccount", account),
    kubeManifest("ClusterRoleBinding", clusterWide, bindingOf("ClusterRole", "system:node-bootstrapper", BOOTSTRAPPER)),
    kubeManifest("Role", role, { rules: bootstrapTokenRules }),
    // A controller in another cluster is given the Role by whoever makes its kubeconfig.
    ...(isController
      ? [kubeManifest("RoleBinding", binding, bindingOf("Role", role.name, { name: CONTROLLER_NAME, namespace }))]
      : []),
  ];
}

function manifestsOf(program: Program, config: InstallConfig): KubeManifest[] {
  const { clusterRules, name, publicPort, rules } = program;
  const { ignitionNodePort: nodePort, ignitionService: type, namespace, replicas } = config;
  const account = { name, namespace };
  const metadata = { ...account, labels };
  const own = { ...labels, app: name };
  const selector = { app: name };
  // Two installations in different namespaces must not share a binding.
  const clusterWide = { name: `${name}.${namespace}`, labels };
  const chosen = nodePort === undefined ? {} : { nodePort };
  const ports = [{ name: "ignition", port: 443, targetPort: "ignition", protocol: "TCP", ...chosen }];
  const template = { metadata: { labels: own }, spec: pod(program, config) };
  const workload = { ...metadata, labels: own };
  return [
    kubeManifest("ServiceAccount", metadata),
    ...(clusterRules === undefined
      ? []
      : [
          kubeManifest("ClusterRole", clusterWide, { rules: clusterRules }),
          kubeManifest("ClusterRoleBinding", clusterWide, bindingOf("ClusterRole", clusterWide.name, account)),
        ]),
    kubeManifest("Role", metadata, { rules }),
    kubeManifest("RoleBinding", metadata, bindingOf("Role", name, account)),
    // Machines connect from outside the cluster; the cluster's owner chooses by which type of Service.
    ...(publicPort === undefined ? [] : [kubeManifest("Service", metadata, { spec: { type, selector, ports } })]),
    kubeManifest("NetworkPolicy", workload, { spec: policy(program, config) }),
    kubeManifest("Deployment", workload, { spec: { replicas, selector: { matchLabels: selector }, template } }),
  ];
}

/** Objects as one YAML stream, for kubectl or a repository. */
export function installStream(manifests: readonly KubeManifest[]): string {
  return manifests.map((each) => yamlText(each)).join("---\n");
}

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
        : await applyObject(api, manifest, { fieldManager: INSTALL_MANAGER, force }),
    );
  }
  return outcomes;
}

/** The image's unprivileged user. */
const USER = 65_532;
const DNS_PORTS = [5353, 53];

/** A network that is closed but for what the program needs. */
function policy({ name, publicPort }: Program, { apiPorts }: InstallConfig) {
  const open = (protocol: string) => (port: number) => ({ protocol, port });
  return {
    podSelector: { matchLabels: { app: name } },
    policyTypes: ["Ingress", "Egress"],
    ingress: [
      {
        from: [{ namespaceSelector: { matchLabels: { "network.openshift.io/policy-group": "monitoring" } } }],
        ports: [tcpPort(HEALTH_PORT)],
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

/** A pod that can do no harm to its node. */
function pod({ args, memoryLimit = "256Mi", name, publicPort, volumes = [] }: Program, { image }: InstallConfig) {
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
          { name: "health", containerPort: HEALTH_PORT, protocol: "TCP" },
          ...(publicPort === undefined ? [] : [{ name: "ignition", containerPort: publicPort, protocol: "TCP" }]),
        ],
        livenessProbe: probe("/healthz", 20),
        readinessProbe: probe("/readyz", 10),
        resources: { requests: { cpu: "10m", memory: "96Mi" }, limits: { memory: memoryLimit } },
        securityContext: UNPRIVILEGED,
        terminationMessagePolicy: "FallbackToLogsOnError",
        volumeMounts: mountsOf(volumes),
      },
    ],
    volumes: volumesOf(volumes),
  };
}
