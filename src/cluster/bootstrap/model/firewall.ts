/** The one thing a network has to let through; platforms translate it into their own rules. */
import type { BridgeModel } from "./model.js";

export interface FirewallRule {
  readonly proto: "tcp";
  readonly port: number;
  /** Agents in the pod network arrive with their node's address, so nodes are the source either way. */
  readonly from: readonly ("control-plane" | "workers")[];
  readonly to: "bootstrap";
  /** Gone when the bridge is. */
  readonly lifetime: "bootstrap";
}

export function firewallRule({ ports }: BridgeModel): FirewallRule {
  return {
    proto: "tcp",
    port: ports.agent,
    from: ["control-plane", "workers"],
    to: "bootstrap",
    lifetime: "bootstrap",
  };
}
