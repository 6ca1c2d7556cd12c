/** `drawbridge bootstrap analyze`: the checks on a bundle, and those of them that a bootstrap host alone can answer. */
import type { Finding } from "../../base/finding.js";
import type { Bundle } from "./bundle/bundle.js";
import { bundleSource, readBundle } from "./bundle/collect.js";
import type { Check } from "./check.js";
import { agentAvailable, agentChecks, certificateChecks } from "./checks/agents.js";
import { apiServerChecks, webhookObservations } from "./checks/bootstrap-apiserver.js";
import * as bootstrap from "./checks/bootstrap-host.js";
import { egressAgreement } from "./checks/egress.js";
import { sorted } from "./report.js";
import { runChecks } from "./run.js";

/** Causes before their consequences; within one likelihood findings keep this order. */
const ofHost = [...bootstrap.serverChecks, ...certificateChecks, egressAgreement, ...apiServerChecks];
const all = [...ofHost, ...agentChecks, ...bootstrap.readinessChecks, agentAvailable];

/** The failed findings, the most likely cause first. */
async function causes(checks: readonly Check[], bundle: Bundle): Promise<Finding[]> {
  const findings = await runChecks(checks, bundleSource(bundle));
  return sorted(findings.filter(({ state }) => state === "failed"));
}

export type Analysis = Awaited<ReturnType<typeof analyze>>;

/** Throws DB_BUNDLE when the path holds no bundle. */
export async function analyze(path: string) {
  const bundle = await readBundle(path);
  return { kind: bundle.kind!, findings: await causes(all, bundle), observations: observationsOf(bundle) };
}

/** The causes that the files of a bootstrap host show, without its cluster and its agents. */
export const analyzeHost = (bundle: Bundle): Promise<Finding[]> =>
  causes([...ofHost, ...bootstrap.readinessChecks], bundle);

/** Sentences about the state of the bridge that are neither ok nor failed but help to read the findings. */
function observationsOf(bundle: Bundle): string[] {
  const { agentLogs, isTakenDown, observations } = bundle;
  const connected = agentLogs.filter((log) => log.connected.count > 0 && log.failure === undefined).length;
  return [
    ...bootstrap.serviceObservations(bundle),
    ...(isTakenDown ? ["The bridge had been taken down when the bundle was made."] : []),
    agentLogs.length > 0
      ? `${connected} of ${agentLogs.length} agents were connected at the end of their logs.`
      : bundle.incomplete === undefined
        ? "No agent's log is in the bundle; workers' logs never are in the installer's."
        : "No agent's log is in the part of the bundle that could be read.",
    ...bootstrap.readinessObservations(bundle),
    ...webhookObservations(bundle),
    ...observations,
  ];
}
