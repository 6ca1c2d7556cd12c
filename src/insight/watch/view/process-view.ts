/** What a reader knows of a process, kept up to date by the events of its stream. */
import type {
  AgentPeer,
  ChangeEvent,
  Changes,
  Overview,
  Refusal,
  ServerPeer,
  SnapshotEvent,
  TunnelRow,
} from "../../observe/admin/contract.js";
import { History } from "./history.js";

/** As many as the process itself remembers. */
const ENDED_KEPT = 500;
const REFUSALS_KEPT = 256;

/** The process at the other end of an event stream: its state now, and its rates over the last minutes. */
export class FollowedProcess {
  view: ProcessView | undefined;
  readonly history = new History();

  /** The data of an event as JSON. */
  take(name: string, data: string): void {
    if (name === "snapshot") this.view = new ProcessView(JSON.parse(data) as SnapshotEvent, Date.now());
    else if (name === "change") this.view?.apply(JSON.parse(data) as ChangeEvent);
  }

  /** Called once a second: a rate needs two samples. */
  sample(now: number): void {
    if (this.view !== undefined) this.history.sample(this.view.facts, now);
  }
}

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

  apply(change: ChangeEvent): void {
    const { agents, servers, tunnels, refusals, ended, ...facts } = change;
    this.facts = { ...this.facts, ...facts };
    applyTo(this.agents, agents, ({ key }) => key);
    applyTo(this.servers, servers, ({ key }) => key);
    applyTo(this.tunnels, tunnels, ({ id }) => id);
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

function applyTo<Item>(
  items: Map<number, Item>,
  changes: Changes<Item> | undefined,
  keyOf: (item: Item) => number,
): void {
  for (const item of changes?.changed ?? []) items.set(keyOf(item), item);
  for (const key of changes?.gone ?? []) items.delete(key);
}
