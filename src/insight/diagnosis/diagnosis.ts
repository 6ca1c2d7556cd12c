/** One thing that doctor looked at. */

/** Where a bridge is built, stands, or is looked after from. */
export const bridgeRoles = ["server", "agent", "bootstrap", "workstation"] as const;

export const roles = [...bridgeRoles, "sidecar", "ignition", "nodepool", "approver"] as const;

/**
 * Where doctor runs: beside a server, beside an agent, on an OpenShift bootstrap host, beside a sidecar, an Ignition
 * server, a pool controller or a CSR approver, or somewhere else.
 */
export type Role = (typeof roles)[number];

export interface Outcome {
  /** Only what is wrong makes doctor fail. */
  readonly state: "ok" | "warning" | "wrong" | "skipped";
  /** What was found, one sentence without its full stop. */
  readonly finding: string;
  /** Lines that show it; where they were read. */
  readonly evidence: readonly string[];
  /** What to do, with the exact flag or line; empty when there is nothing. */
  readonly remedy: string;
}

export interface Diagnosis extends Outcome {
  /** Stable, for scripts. */
  readonly id: string;
}

export interface Check<Context> {
  readonly id: string;
  readonly roles: readonly Role[];
  run(context: Context): Promise<readonly Outcome[]>;
}

export const ok = (finding: string, ...evidence: string[]): Outcome => ({ state: "ok", finding, evidence, remedy: "" });
export const skipped = (finding: string, remedy = ""): Outcome => ({ state: "skipped", finding, evidence: [], remedy });
export const warning = (finding: string, remedy: string, ...evidence: string[]): Outcome => ({
  ...{ state: "warning", finding, evidence, remedy },
});
export const wrong = (finding: string, remedy: string, ...evidence: string[]): Outcome => ({
  ...{ state: "wrong", finding, evidence, remedy },
});
