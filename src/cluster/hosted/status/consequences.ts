/** What stops working, in the words of those who will notice. */
import type { Result } from "../../../base/check.js";

const throughTheTunnel: readonly string[] = [
  "kubectl logs, exec, attach, port-forward and cp",
  "admission and conversion webhooks that run in the hosted cluster: with failurePolicy Fail, requests are refused",
  "aggregated APIs that run in the hosted cluster, such as metrics.k8s.io: kubectl top, autoscaling, namespace deletion",
  "logins by identity providers that are reached from the hosted cluster's network (oauth-openshift)",
  "image import from registries in the hosted cluster's network (openshift-apiserver)",
  "operator catalogs (olm-operator, catalog-operator, packageserver)",
  "checks and canaries of the ingress and network operators",
];

const insideTheControlPlane: readonly string[] = [
  "APIs that the control plane itself serves: routes, images, builds, projects, OAuth and packages of OpenShift",
];

const workersToControlPlane: readonly string[] = [
  "nodes: without their kubelets' reports they become NotReady, and new pods do not start",
  "every controller and operator in the hosted cluster",
];

const byCheck: Readonly<Record<string, readonly string[]>> = {
  infrastructure: throughTheTunnel,
  "data-plane-connection": throughTheTunnel,
  agents: throughTheTunnel,
  servers: [...throughTheTunnel, ...insideTheControlPlane],
  certificates: [...throughTheTunnel, ...insideTheControlPlane],
  "control-plane-agents": insideTheControlPlane,
  "control-plane-connection": workersToControlPlane,
};

/** Each once, worst first; empty when nothing failed. */
export function consequences(results: readonly Result[]): string[] {
  const failed = results.filter(({ status }) => status === "fail");
  const general = failed.flatMap(({ id }) => byCheck[id] ?? []);
  const particular = failed
    .filter(({ id }) => id.startsWith("webhook:") || id.startsWith("apiservice:"))
    .map(({ title, details }) => (typeof details?.effect === "string" ? `${title}: ${details.effect}` : title));
  return [...new Set([...general, ...particular])];
}
