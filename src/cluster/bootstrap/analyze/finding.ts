/** What an analysis says. */
import type { Evidence } from "./evidence.js";

export type FindingId =
  | "stage-failed"
  | "service-not-started"
  | "no-service-records"
  | "server-crash-loop"
  | "server-not-started"
  | "certificate-san"
  | "certificate-expired"
  | "certificate-not-yet-valid"
  | "certificate-authority"
  | "agent-refused"
  | "address-mismatch"
  | "address-not-on-host"
  | "agents-forbidden"
  | "port-blocked"
  | "port-closed"
  | "no-route"
  | "name-unresolved"
  | "agents-pending"
  | "agents-crash-loop"
  | "agents-image"
  | "egress-disagrees"
  | "never-ready"
  | "no-agent";

/** How sure it is that this is why the bridge does not work; findings are told in this order. */
export const likelihoods = ["certain", "likely", "possible"] as const;
export type Likelihood = (typeof likelihoods)[number];

export interface Finding {
  /** Stable, for scripts. */
  readonly id: FindingId;
  readonly likelihood: Likelihood;
  /** One sentence: the cause. */
  readonly message: string;
  /** At least one. */
  readonly evidence: readonly Evidence[];
  /** One sentence: what to do, with the flag or line. */
  readonly remedy: string;
}

export interface Analysis {
  readonly bundle: string;
  readonly kind: "openshift-install" | "drawbridge";
  /** Most likely first. */
  readonly findings: readonly Finding[];
  /** What is neither right nor wrong but helps to read the rest; one sentence each. */
  readonly observations: readonly string[];
}
