/** What the person at the terminal chose to see, and what that selects. */
import type { AgentPeer, ServerPeer, TunnelRow } from "../../observe/admin/contract.js";
import type { ProcessView } from "../view/process-view.js";
import { listTunnels, type Order } from "../view/tunnel-list.js";

export interface Choices {
  readonly order: Order;
  readonly search: string;
  /** The search is being typed. */
  readonly isTyping: boolean;
  /** The list in which a row is selected. */
  readonly focus: "peers" | "tunnels";
  /** Which row of it. */
  readonly at: number;
  /** What is shown over the lists. */
  readonly overlay?: "help" | "details" | "drain" | undefined;
}

export const FIRST_CHOICES: Choices = {
  ...{ order: { column: "age", descending: false }, search: "", isTyping: false },
  ...{ focus: "tunnels", at: 0 },
};

export type Peer = AgentPeer | ServerPeer;

export interface Lists {
  readonly peers: readonly Peer[];
  readonly tunnels: readonly TunnelRow[];
  readonly peer: Peer | undefined;
  readonly tunnel: TunnelRow | undefined;
  /** The selected row, where there are fewer rows than were asked for. */
  readonly at: number;
}

/** Peers in an order in which they stay: rows that jump cannot be read. */
export function listsOf(view: ProcessView, { at: asked, focus, order, search }: Choices): Lists {
  const peers = [...view.agents.values(), ...view.servers.values()].sort((one, other) => one.key - other.key);
  const tunnels = listTunnels(view.tunnels.values(), search, order);
  const at = Math.min(asked, Math.max(0, (focus === "peers" ? peers : tunnels).length - 1));
  return {
    ...{ peers, tunnels, at },
    peer: focus === "peers" ? peers[at] : undefined,
    tunnel: focus === "tunnels" ? tunnels[at] : undefined,
  };
}
