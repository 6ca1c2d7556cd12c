/** What the operator of an approver may choose. */
import { Networks } from "./addresses.js";

export interface Policy {
  /** Who files first requests: the identity in every machine's bootstrap kubeconfig. */
  readonly bootstrapUser: string;
  /** All of its groups, no more and no fewer. */
  readonly bootstrapGroups: readonly string[];
  /** Where nodes may have addresses that no inventory lists. */
  readonly nodeNetworks: Networks;
  /** Services, pods, control plane: never a node's. */
  readonly foreignNetworks: Networks;
  /** Names of the control plane beyond the usual ones. */
  readonly reservedNames: readonly string[];
  /** Whether a machine must have been seen fetching its configuration. */
  readonly needsClaim: boolean;
  /** Nodes beyond a pool's replicas, while some are replaced. */
  readonly surge: number;
  /** Approvals in a minute and pool. */
  readonly poolRate: number;
  /** Whether forgeries are denied; otherwise they stay pending like everything else. */
  readonly deniesForgery: boolean;
}

const BOOTSTRAP_NAMESPACE = "openshift-machine-config-operator";

export const defaultPolicy: Policy = {
  bootstrapUser: `system:serviceaccount:${BOOTSTRAP_NAMESPACE}:node-bootstrapper`,
  bootstrapGroups: [`system:serviceaccounts:${BOOTSTRAP_NAMESPACE}`, "system:serviceaccounts", "system:authenticated"],
  nodeNetworks: new Networks([]),
  foreignNetworks: new Networks([]),
  reservedNames: [],
  needsClaim: false,
  surge: 0,
  poolRate: 100,
  deniesForgery: true,
};

/** A clock may run this far ahead of another. */
export const SKEW_MS = 10_000;
/** A kubelet that got no certificate for so long files another request with another key. */
export const PATIENCE_MS = 15 * 60_000;
export const RATE_WINDOW_MS = 60_000;
/** The brake counts requests as young as this; that many more than there are machines is a flood. */
export const BRAKE_WINDOW_MS = 60 * 60_000;
export const BRAKE_MARGIN = 100;
