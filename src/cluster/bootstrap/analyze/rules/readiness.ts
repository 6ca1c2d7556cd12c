/** A server, upstream's and ours alike, counts only the agents of its first strategy when asked whether it is ready. */
import type { Facts } from "../facts/facts.js";
import { flagValue } from "../facts/programs.js";
import type { Finding } from "../finding.js";

const REMEDY =
  "Start the server with --proxy-strategies=defaultRoute (agents announce nothing else), and do not wait for /readyz of a server that has destHost first; tunnels work either way.";

export function readiness(facts: Facts): Finding[] {
  const { ready, backends } = facts;
  const connected = [...(backends?.byStrategy.values() ?? [])].some((count) => count > 0);
  if (ready?.status !== 500 || backends === undefined || !connected) return [];
  return [
    {
      id: "never-ready",
      likelihood: "certain",
      message:
        "the server says that it is not ready although agents are connected: its first strategy has none of them",
      evidence: [ready.seen, backends.seen, ...destHostFirst(facts).map(({ seen }) => seen)],
      remedy: REMEDY,
    },
  ];
}

/** Without an answer of /readyz it is only worth knowing: OpenShift's own pod has no readiness probe. */
export function readinessObservations(facts: Facts): string[] {
  if (facts.ready !== undefined || destHostFirst(facts).length === 0) return [];
  return [`The server runs with destHost as its first strategy: /readyz answers 500 for good. ${REMEDY}`];
}

function destHostFirst({ serverArguments }: Facts) {
  return serverArguments.filter(({ words }) => /^destHost,/.test(flagValue(words, "proxy-strategies") ?? ""));
}
