/** Everything that pools need in a cluster, as objects: the resource, and what runs for it with no more rights than it needs. */
import { stringify } from "yaml";
import { applyObject, type Manifest, type ObjectOutcome } from "../../kube/apply.js";
import { find } from "../../kube/find.js";
import { objectPath, titleOf } from "../../kube/paths.js";
import type { KubeApi } from "../../kube/port.js";
import { OWNER_LABEL, OWNER_NAME, refuseBesideHyperShift } from "../controller/hypershift.js";
import {
  APPROVER_NAME,
  clusterRules as approverClusterRules,
  namespaceRules as approverNamespaceRules,
  CONTROLLER_NAME,
  inventoryRule,
  type PolicyRule,
} from "../permissions.js";
import {
  IGNITION_SERVER_NAME,
  ignitionServerProgram,
  ignitionServerRules,
  ignitionService,
} from "./ignition-server.js";
import { controllerClusterRules, controllerNamespaceRules } from "./permissions.js";
import { nodePoolResource } from "./schema.js";
import { workload } from "./workload.js";

export const components = ["controller", "approver", "ignition"] as const;
export type Component = (typeof components)[number];

export interface InstallConfig {
  readonly namespace: string;
  readonly image: string;
  readonly components: readonly Component[];
  readonly replicas: number;
  /** Where the API server may be found, as pods see it. */
  readonly apiPorts: readonly number[];
  /** Further flags of the approver, such as --node-cidr. */
  readonly approverArgs: readonly string[];
  /** How machines reach the Ignition server. */
  readonly ignitionService: "ClusterIP" | "NodePort" | "LoadBalancer";
}

const RBAC = "rbac.authorization.k8s.io";
const HEALTH_PORT = 8080;

export function renderInstall(config: InstallConfig): Manifest[] {
  // Where machines join there need be no pools: the approver may be alone there.
  const resources = config.components.includes("controller") ? [nodePoolResource] : [];
  return [namespaceOf(config), ...resources, ...config.components.flatMap((part) => partOf(part, config))];
}

function namespaceOf({ namespace }: InstallConfig): Manifest {
  return {
    apiVersion: "v1",
    kind: "Namespace",
    metadata: {
      name: namespace,
      labels: { [OWNER_LABEL]: OWNER_NAME, "pod-security.kubernetes.io/enforce": "restricted" },
    },
  };
}

function partOf(part: Component, config: InstallConfig): Manifest[] {
  const { namespace } = config;
  const shared = [`--namespace=${namespace}`, `--health-port=${HEALTH_PORT}`];
  if (part === "controller") {
    return [
      ...account(CONTROLLER_NAME, namespace, controllerClusterRules, controllerNamespaceRules),
      ...workload(CONTROLLER_NAME, config, { args: controllerArgs(shared, config), healthPort: HEALTH_PORT }),
    ];
  }
  if (part === "ignition") {
    return [
      ...account(IGNITION_SERVER_NAME, namespace, [], ignitionServerRules),
      ignitionService(namespace, config.ignitionService),
      ...workload(IGNITION_SERVER_NAME, config, ignitionServerProgram(namespace, HEALTH_PORT)),
    ];
  }
  return [
    ...account(APPROVER_NAME, namespace, approverClusterRules, [...approverNamespaceRules, inventoryRule]),
    ...workload(APPROVER_NAME, config, {
      args: ["csr", "approver", ...shared, ...config.approverArgs],
      healthPort: HEALTH_PORT,
    }),
  ];
}

/** The Ignition server beside it needs a certificate, unless somebody made one. */
function controllerArgs(shared: readonly string[], { components }: InstallConfig): string[] {
  return ["nodepool", "controller", ...shared, ...(components.includes("ignition") ? ["--issue-certificate"] : [])];
}

function account(
  name: string,
  namespace: string,
  clusterRules: readonly PolicyRule[],
  rules: readonly PolicyRule[],
): Manifest[] {
  const labels = { [OWNER_LABEL]: OWNER_NAME };
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  // Two installations in different namespaces must not share a binding.
  const clusterName = `${name}.${namespace}`;
  const binding = (kind: "ClusterRole" | "Role", metadata: Manifest["metadata"]): Manifest => ({
    apiVersion: `${RBAC}/v1`,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: RBAC, kind, name: metadata.name },
    subjects,
  });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
    ...(clusterRules.length === 0
      ? []
      : [
          {
            apiVersion: `${RBAC}/v1`,
            kind: "ClusterRole",
            metadata: { name: clusterName, labels },
            rules: clusterRules,
          },
          binding("ClusterRole", { name: clusterName, labels }),
        ]),
    { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: { name, namespace, labels }, rules },
    binding("Role", { name, namespace, labels }),
  ];
}

/** Objects as one YAML stream, for kubectl or a repository. */
export function streamOf(manifests: readonly Manifest[]): string {
  return manifests.map((each) => stringify(each, { aliasDuplicateObjects: false, lineWidth: 0 })).join("---\n");
}

const FIELD_MANAGER = "drawbridge-nodepool";

/** Brings a cluster in line with what pools need, unless they are HyperShift's. */
export async function applyInstall(
  api: KubeApi,
  manifests: readonly Manifest[],
  { force }: { readonly force: boolean },
): Promise<ObjectOutcome[]> {
  await refuseBesideHyperShift(api);
  const outcomes: ObjectOutcome[] = [];
  for (const manifest of manifests) {
    // The labels of a namespace that exists are its owner's business.
    const isKept = manifest.kind === "Namespace" && (await find(api, objectPath(manifest))) !== undefined;
    outcomes.push(
      isKept
        ? { object: titleOf(manifest), action: "unchanged" }
        : await applyObject(api, manifest, { fieldManager: FIELD_MANAGER, force }),
    );
  }
  return outcomes;
}
