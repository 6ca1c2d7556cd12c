/** Reads a bundle and names what is wrong, most likely cause first. */
import type { BundleEntry } from "./bundle/entry.js";
import { openBundle } from "./bundle/open-bundle.js";
import { unusableBundle } from "./bundle/refusal.js";
import { collectFacts } from "./facts/collect.js";
import type { Facts } from "./facts/facts.js";
import { type Analysis, type Finding, likelihoods } from "./finding.js";
import { noAgentPods, pods, reachability } from "./rules/agents.js";
import { addresses, egress } from "./rules/agreement.js";
import { certificates } from "./rules/certificates.js";
import { readiness, readinessObservations } from "./rules/readiness.js";
import { server } from "./rules/server.js";
import { isTakenDown, stageObservations, stages } from "./rules/stages.js";

type Rule = (facts: Facts) => Finding[];

/** Causes before what follows from them; within one likelihood findings keep this order. */
const ofHost: readonly Rule[] = [stages, server, certificates, addresses, egress];
const rules: readonly Rule[] = [...ofHost, pods, reachability, readiness, noAgentPods];

/** Throws DB_BUNDLE when the path holds no bundle. */
export async function analyze(path: string): Promise<Analysis> {
  const facts = await collectFacts(openBundle(path));
  if (facts.kind === undefined) throw unusableBundle(path, "it holds nothing that a gather writes");
  return {
    bundle: path,
    kind: facts.kind,
    findings: findingsOf(facts, rules),
    observations: observationsOf(facts),
  };
}

/** What a bootstrap host's own files tell, without its cluster and its agents. */
export async function analyzeHost(
  entries: AsyncIterable<BundleEntry>,
): Promise<Pick<Analysis, "findings" | "observations"> & { readonly isTakenDown: boolean }> {
  const facts = await collectFacts(entries);
  const findings = findingsOf(facts, [...ofHost, readiness]);
  return { findings, observations: stageObservations(facts), isTakenDown: isTakenDown(facts) };
}

function findingsOf(facts: Facts, asked: readonly Rule[]): Finding[] {
  const found = asked.flatMap((rule) => rule(facts));
  return likelihoods.flatMap((likelihood) => found.filter((finding) => finding.likelihood === likelihood));
}

function observationsOf(facts: Facts): string[] {
  const connected = facts.agents.filter(
    ({ connected: seen, failure }) => seen.count > 0 && failure === undefined,
  ).length;
  return [
    ...stageObservations(facts),
    ...(isTakenDown(facts) ? ["The bridge had been taken down when the bundle was made."] : []),
    ...(facts.agents.length > 0
      ? [`${connected} of ${facts.agents.length} agents were connected at the end of their logs.`]
      : []),
    ...(facts.agents.length === 0
      ? ["No agent's log is in the bundle; workers' logs never are in the installer's."]
      : []),
    ...readinessObservations(facts),
    ...facts.observations,
  ];
}
