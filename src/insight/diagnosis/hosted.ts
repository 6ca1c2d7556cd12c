/** `drawbridge hosted status` and `verify`. */
import type { Finding } from "../../base/finding.js";
import * as checks from "./checks/hosted.js";
import { findingsJson, findingsText } from "./report.js";
import { runChecks } from "./run.js";
import type { HostedCondition } from "./sources/hosted.js";
import { type HostedControlPlane, hostedSource } from "./sources/hosted.js";

const reading = [
  checks.infrastructure,
  checks.hostedCertificates,
  checks.servers,
  checks.hostedStrategies,
  checks.controlPlaneAgents,
  checks.agents,
  checks.dataPlane,
  checks.controlPlane,
];

const calling = [checks.webhookCalls, checks.apiServiceCalls];

/** Webhooks are called one after the other, and each may take half a minute. */
const DEADLINE_MS = 15 * 60_000;

/** `status` only reads; `verify` also lets the kube-apiserver call webhooks (dry run) and aggregated APIs. */
export function diagnoseHosted(command: "status" | "verify", subject: HostedControlPlane): Promise<Finding[]> {
  // Without a kubeconfig of the hosted cluster there is nothing to call.
  const calls = command === "verify" && subject.clusters.hosted !== undefined ? calling : [];
  return runChecks([...reading, ...calls], hostedSource(subject), { deadlineMs: DEADLINE_MS });
}

/** `conditions` are as HyperShift would write them; `stopsWorking` is empty when nothing failed. */
export function hostedJson(findings: readonly Finding[]) {
  const conditions = findings.flatMap(({ details }) => (details?.condition as HostedCondition | undefined) ?? []);
  return findingsJson({ conditions, stopsWorking: consequencesOf(findings) }, findings);
}

export function hostedText(findings: readonly Finding[]): string {
  const consequences = consequencesOf(findings);
  const list = consequences.map((what) => `- ${what}\n`).join("");
  return findingsText(findings) + (list === "" ? "" : `\nWhat stops working:\n${list}`);
}

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

/** What stops working, as users will notice it: each once, worst first; empty when nothing failed. */
export function consequencesOf(findings: readonly Finding[]): string[] {
  const failed = findings.filter(({ state }) => state === "failed");
  // Where an API could not be asked, nothing is known of what stands behind the check.
  const judged = failed.filter(({ code }) => !/^DB_API_/.test(code ?? ""));
  const general = judged.flatMap(({ check }) => byCheck[check] ?? []);
  const particular = failed.flatMap(({ check, details, subject }) => {
    if (subject === undefined) return [];
    return [typeof details?.effect === "string" ? `${check} ${subject}: ${details.effect}` : `${check} ${subject}`];
  });
  return [...new Set([...general, ...particular])];
}
