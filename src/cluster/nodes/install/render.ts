/** Everything that pools need in a cluster, as objects: the resource, and what runs for it with no more rights than it needs. */
import { ownerLabel, ownerName } from "../controller/hypershift.js";
import { controllerName } from "../controller/name.js";
import {
  clusterRules as approverClusterRules,
  approverName,
  namespaceRules as approverNamespaceRules,
  inventoryRule,
  type PolicyRule,
} from "../csr/approver/permissions.js";
import { ignitionServerName, ignitionServerProgram, ignitionServerRules, ignitionService } from "./ignition-server.js";
import type { Manifest } from "./manifest.js";
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

const rbac = "rbac.authorization.k8s.io";
const healthPort = 8080;

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
      labels: { [ownerLabel]: ownerName, "pod-security.kubernetes.io/enforce": "restricted" },
    },
  };
}

function partOf(part: Component, config: InstallConfig): Manifest[] {
  const { namespace } = config;
  const shared = [`--namespace=${namespace}`, `--health-port=${healthPort}`];
  if (part === "controller") {
    return [
      ...account(controllerName, namespace, controllerClusterRules, controllerNamespaceRules),
      ...workload(controllerName, config, { args: controllerArgs(shared, config), healthPort }),
    ];
  }
  if (part === "ignition") {
    return [
      ...account(ignitionServerName, namespace, [], ignitionServerRules),
      ignitionService(namespace, config.ignitionService),
      ...workload(ignitionServerName, config, ignitionServerProgram(namespace, healthPort)),
    ];
  }
  return [
    ...account(approverName, namespace, approverClusterRules, [...approverNamespaceRules, inventoryRule]),
    ...workload(approverName, config, { args: ["csr", "approver", ...shared, ...config.approverArgs], healthPort }),
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
  const labels = { [ownerLabel]: ownerName };
  const subjects = [{ kind: "ServiceAccount", name, namespace }];
  // Two installations in different namespaces must not share a binding.
  const clusterName = `${name}.${namespace}`;
  const binding = (kind: "ClusterRole" | "Role", metadata: Manifest["metadata"]): Manifest => ({
    apiVersion: `${rbac}/v1`,
    kind: `${kind}Binding`,
    metadata,
    roleRef: { apiGroup: rbac, kind, name: metadata.name },
    subjects,
  });
  return [
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace, labels } },
    ...(clusterRules.length === 0
      ? []
      : [
          {
            apiVersion: `${rbac}/v1`,
            kind: "ClusterRole",
            metadata: { name: clusterName, labels },
            rules: clusterRules,
          },
          binding("ClusterRole", { name: clusterName, labels }),
        ]),
    { apiVersion: `${rbac}/v1`, kind: "Role", metadata: { name, namespace, labels }, rules },
    binding("Role", { name, namespace, labels }),
  ];
}
