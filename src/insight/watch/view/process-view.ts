/** What the page knows of its process, kept up to date by the events of the stream. */
import type {
  AgentPeer,
  ChangeEvent,
  Changes,
  Overview,
  Refusal,
  ServerPeer,
  SnapshotEvent,
  TunnelChanges,
  TunnelRow,
  TunnelsEvent,
} from "../../observe/admin/contract.js";

/** As many as the process itself remembers. */
const ENDED_KEPT = 500;
const REFUSALS_KEPT = 256;

type Facts = Omit<Overview, "agents" | "servers" | "refusals">;

export class ProcessView {
  facts: Facts;
  readonly agents = new Map<number, AgentPeer>();
  readonly servers = new Map<number, ServerPeer>();
  readonly tunnels = new Map<number, TunnelRow>();
  /** Newest first. */
  ended: readonly TunnelRow[];
  refusals: readonly Refusal[];
  /** What the reader's clock is ahead of the process'. */
  readonly clockSkewMs: number;

  constructor(snapshot: SnapshotEvent, now: number) {
    const { agents = [], servers = [], refusals, ended, ...facts } = snapshot;
    this.facts = facts;
    this.refusals = refusals;
    this.ended = ended;
    this.clockSkewMs = now - snapshot.process.now;
    for (const agent of agents) this.agents.set(agent.key, agent);
    for (const server of servers) this.servers.set(server.key, server);
  }

  add({ tunnels }: TunnelsEvent): void {
    for (const tunnel of tunnels) this.tunnels.set(tunnel.id, tunnel);
  }

  apply(change: ChangeEvent): void {
    const { agents, servers, tunnels, refusals, ended, ...facts } = change;
    this.facts = { ...this.facts, ...facts };
    applyPeers(this.agents, agents);
    applyPeers(this.servers, servers);
    if (tunnels !== undefined) applyTunnels(this.tunnels, tunnels);
    if (refusals !== undefined) this.refusals = newestFirst(refusals, this.refusals, REFUSALS_KEPT);
    if (ended !== undefined) this.ended = newestFirst(ended, this.ended, ENDED_KEPT);
  }
}

/** A server that did not say its ID is known by its address. */
export const peerId = (peer: AgentPeer | ServerPeer): string =>
  "address" in peer ? (peer.id ?? peer.address) : peer.id;

export type PeerState = "ok" | "draining" | "demoted" | "failing";

export function peerState(peer: AgentPeer | ServerPeer): PeerState {
  if (peer.path?.state === "failing") return "failing";
  if (peer.draining === true) return "draining";
  return "demotedUntil" in peer && peer.demotedUntil !== undefined ? "demoted" : "ok";
}

/** A snapshot that was taken between two changes, after a loss, has some of the next change already. */
function newestFirst<Item extends { readonly id: string | number }>(
  news: readonly Item[],
  known: readonly Item[],
  most: number,
): Item[] {
  const ids = new Set(news.map(({ id }) => id));
  return [...news, ...known.filter(({ id }) => !ids.has(id))].slice(0, most);
}

function applyPeers<Peer extends { readonly key: number }>(
  peers: Map<number, Peer>,
  changes: Changes<Peer> | undefined,
): void {
  for (const peer of changes?.changed ?? []) peers.set(peer.key, peer);
  for (const key of changes?.gone ?? []) peers.delete(key);
}

function applyTunnels(tunnels: Map<number, TunnelRow>, { opened, changed, gone }: TunnelChanges): void {
  for (const tunnel of opened) tunnels.set(tunnel.id, tunnel);
  for (const patch of changed) {
    const known = tunnels.get(patch.id);
    // One that is not known yet comes whole in a later portion of the snapshot.
    if (known !== undefined) tunnels.set(patch.id, { ...known, ...patch });
  }
  for (const id of gone) tunnels.delete(id);
}
