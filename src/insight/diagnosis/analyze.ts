/** `drawbridge bootstrap analyze`: the checks on a bundle, and those of them that a bootstrap host alone can answer. */
import type { Finding } from "../../base/finding.js";
import type { Bundle } from "./bundle/bundle.js";
import { bundleSource, readBundle } from "./bundle/collect.js";
import type { Check } from "./check.js";
import { agentAvailable, agentChecks } from "./checks/agents.js";
import { serviceChecks, serviceObservations } from "./checks/bootstrap-services.js";
import { certificateChecks } from "./checks/bridge-certificates.js";
import { egressAgreement } from "./checks/egress.js";
import { readinessObservations, serverBecomesReady, serverCrashes, serverStarted } from "./checks/server-process.js";
import { sorted } from "./report.js";
import { runChecks } from "./run.js";

/** Causes before their consequences; within one likelihood findings keep this order. */
const ofHost: readonly Check[] = [
  ...serviceChecks,
  serverCrashes,
  serverStarted,
  ...certificateChecks,
  egressAgreement,
];

const all: readonly Check[] = [...ofHost, ...agentChecks, serverBecomesReady, agentAvailable];

/** The failed findings, the most likely cause first. */
async function causes(checks: readonly Check[], bundle: Bundle): Promise<Finding[]> {
  const findings = await runChecks(checks, bundleSource(bundle));
  return sorted(findings.filter(({ state }) => state === "failed"));
}

export interface Analysis {
  readonly kind: "openshift-install" | "drawbridge";
  readonly findings: readonly Finding[];
  /** Sentences about the state of the bridge that are neither ok nor failed but help to read the findings. */
  readonly observations: readonly string[];
}

/** Throws DB_BUNDLE when the path holds no bundle. */
export async function analyze(path: string): Promise<Analysis> {
  const bundle = await readBundle(path);
  return { kind: bundle.kind!, findings: await causes(all, bundle), observations: observationsOf(bundle) };
}

/** The causes that the files of a bootstrap host show, without its cluster and its agents. */
export const analyzeHost = (bundle: Bundle): Promise<Finding[]> => causes([...ofHost, serverBecomesReady], bundle);

function observationsOf(bundle: Bundle): string[] {
  const { agentLogs, isTakenDown, observations } = bundle;
  const connected = agentLogs.filter((log) => log.connected.count > 0 && log.failure === undefined).length;
  return [
    ...serviceObservations(bundle),
    ...(isTakenDown ? ["The bridge had been taken down when the bundle was made."] : []),
    agentLogs.length > 0
      ? `${connected} of ${agentLogs.length} agents were connected at the end of their logs.`
      : "No agent's log is in the bundle; workers' logs never are in the installer's.",
    ...readinessObservations(bundle),
    ...observations,
  ];
}
