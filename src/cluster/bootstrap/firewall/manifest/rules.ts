/** What each kind of cluster manifest needs so that agents reach the bootstrap host; and what of it is ours. */
import type { FirewallRule } from "../../model/firewall.js";
import type { Manifest } from "./document.js";

export interface Change {
  /** The security group or rule list, for people. */
  readonly where: string;
  /** The rule, for people. */
  readonly rule: string;
}

export interface Outcome {
  readonly changes: readonly Change[];
  /** Sentences about what was found and left alone. */
  readonly notes: readonly string[];
}

export interface ManifestRules {
  readonly kind: string;
  readonly apiVersions: readonly string[];
  /** Throws UnknownShape. */
  open(manifest: Manifest, rule: FirewallRule): Outcome;
  close(manifest: Manifest, rule: FirewallRule): Outcome;
}

export const GROUP = "infrastructure.cluster.x-k8s.io";

/** Above every rule we add. */
export const COMMENT = "drawbridge: agents reach the bootstrap host, until it is gone";
