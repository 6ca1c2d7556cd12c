/** `drawbridge bootstrap analyze`: the checks on a bundle, and those of them that a bootstrap host alone can answer. */
import type { Finding } from "../../base/finding.js";
import { bundleSource, readBundle } from "./bundle/collect.js";
import type { BundleFacts } from "./bundle/facts.js";
import type { Check } from "./check.js";
import * as agents from "./checks/agents.js";
import * as services from "./checks/bootstrap-services.js";
import * as certificates from "./checks/bridge-certificates.js";
import { egressAgreement } from "./checks/egress.js";
import * as server from "./checks/server-process.js";
import { sorted } from "./report.js";
import { runChecks } from "./run.js";

/** Causes before their consequences; within one likelihood findings keep this order. */
const ofHost: readonly Check[] = [
  ...[services.serviceRecords, services.servicesStarted, services.stagesSucceeded],
  ...[server.serverCrashes, server.serverStarted],
  ...[certificates.certificateNames, certificates.certificateExpiry, certificates.certificateStart],
  ...[certificates.certificateAuthority, certificates.agentCertificates],
  ...[certificates.addressCertified, certificates.addressOnHost, egressAgreement],
];

const all: readonly Check[] = [
  ...ofHost,
  ...[agents.agentsAdmitted, agents.agentImages, agents.agentCrashes, agents.agentsScheduled],
  ...agents.agentReachability,
  ...[server.serverBecomesReady, agents.agentAvailable],
];

/** What is wrong, the most likely cause first. */
async function causes(checks: readonly Check[], facts: BundleFacts): Promise<Finding[]> {
  const findings = await runChecks(checks, bundleSource(facts));
  return sorted(findings.filter(({ state }) => state === "failed"));
}

export interface Analysis {
  readonly kind: "openshift-install" | "drawbridge";
  readonly findings: readonly Finding[];
  /** What is neither right nor wrong but helps to read the rest; one sentence each. */
  readonly observations: readonly string[];
}

/** Throws DB_BUNDLE when the path holds no bundle. */
export async function analyze(path: string): Promise<Analysis> {
  const facts = await readBundle(path);
  return { kind: facts.bundle.kind!, findings: await causes(all, facts), observations: observationsOf(facts) };
}

/** The same for the files of a bootstrap host, without its cluster and its agents. */
export async function analyzeHost(facts: BundleFacts): Promise<Omit<Analysis, "kind"> & { isTakenDown: boolean }> {
  return {
    findings: await causes([...ofHost, server.serverBecomesReady], facts),
    observations: services.serviceObservations(facts.services),
    isTakenDown: services.isTakenDown(facts.services),
  };
}

function observationsOf(facts: BundleFacts): string[] {
  const { agentLogs: logs } = facts;
  const connected = logs.filter((log) => log.connected.count > 0 && log.failure === undefined).length;
  return [
    ...services.serviceObservations(facts.services),
    ...(services.isTakenDown(facts.services) ? ["The bridge had been taken down when the bundle was made."] : []),
    logs.length > 0
      ? `${connected} of ${logs.length} agents were connected at the end of their logs.`
      : "No agent's log is in the bundle; workers' logs never are in the installer's.",
    ...server.readinessObservations(facts),
    ...facts.bundle.observations,
  ];
}
