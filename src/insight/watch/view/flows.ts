/** Who talks to whom, and how much: the tunnels summed up for the map. */
import type { TunnelRow } from "../../observe/admin/contract.js";
import { type PeerState, type ProcessView, peerId, peerState } from "./process-view.js";

/** One line of the map: from the peer that carries the tunnels to a target. */
export interface Flow {
  /** Key of the agent (or, at an agent or sidecar, of the server). */
  readonly peer: number;
  readonly target: string;
  readonly tunnels: number;
  /** Bytes a second, both ways. */
  readonly rate: number;
}

export interface PeerOnMap {
  readonly key: number;
  readonly name: string;
  readonly tunnels: number;
  readonly rate: number;
  readonly state: PeerState;
}

export interface FlowMap {
  readonly peers: readonly PeerOnMap[];
  readonly peersLeftOut: number;
  readonly targets: readonly { readonly name: string; readonly tunnels: number; readonly rate: number }[];
  readonly targetsLeftOut: number;
  readonly flows: readonly Flow[];
}

/** More do not fit on a screen; the busiest are shown, the rest is counted. */
export const SHOWN = 16;
/** More lines would be a carpet, and each one that moves has to be painted. */
const LINES = 48;

/** Remembers how many bytes each tunnel had, so that the next measurement gives rates. */
export class FlowMeter {
  #bytes = new Map<number, number>();
  #at: number | undefined;
  /** Whose tunnels they are. */
  #instance = "";
  /** A sidecar does not say which server carries a tunnel, but which of its listeners it came in by. */
  readonly #listeners = new Map<string, number>();

  measure(view: ProcessView, now: number): FlowMap {
    const { instance } = view.facts.process;
    const seconds = this.#at === undefined || instance !== this.#instance ? 0 : (now - this.#at) / 1000;
    this.#at = now;
    this.#instance = instance;
    const bytes = new Map<number, number>();
    const flows = new Map<string, Mutable<Flow>>();
    for (const tunnel of view.tunnels.values()) {
      const { id, target, bytesToTarget, bytesFromTarget } = tunnel;
      const peer = (tunnel.agent ?? tunnel.server)?.key ?? this.#listenerOf(tunnel);
      if (peer === undefined) continue;
      const total = bytesToTarget + bytesFromTarget;
      bytes.set(id, total);
      const flow = flows.get(`${peer} ${target}`) ?? { peer, target, tunnels: 0, rate: 0 };
      flow.tunnels += 1;
      if (seconds > 0) flow.rate += (total - (this.#bytes.get(id) ?? total)) / seconds;
      flows.set(`${peer} ${target}`, flow);
    }
    this.#bytes = bytes;
    const all = [...flows.values()];
    return drawing(this.#peersOf(view, all), all);
  }

  /** Its number on the map; peers have numbers from zero on. */
  #listenerOf({ listener }: TunnelRow): number | undefined {
    if (listener === undefined) return undefined;
    const known = this.#listeners.get(listener) ?? -1 - this.#listeners.size;
    this.#listeners.set(listener, known);
    return known;
  }

  /** Where flows begin at listeners, servers of which no load is known would only stand about. */
  #peersOf({ agents, servers }: ProcessView, flows: readonly Flow[]): PeerOnMap[] {
    const sums = sumBy(flows, ({ peer }) => peer);
    const listeners = [...this.#listeners].flatMap(([name, key]): PeerOnMap[] => {
      const sum = sums.get(key);
      return sum === undefined ? [] : [{ key, name, ...sum, state: "ok" }];
    });
    if (listeners.length > 0) return listeners;
    return [...agents.values(), ...servers.values()].map((peer) => ({
      key: peer.key,
      name: peerId(peer),
      ...(sums.get(peer.key) ?? { tunnels: 0, rate: 0 }),
      state: peerState(peer),
    }));
  }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function drawing(peers: readonly PeerOnMap[], flows: readonly Flow[]): FlowMap {
  const targets = sumBy(flows, ({ target }) => target);
  const shownPeers = busiest(peers).slice(0, SHOWN);
  const shownTargets = busiest([...targets].map(([name, sum]) => ({ name, ...sum }))).slice(0, SHOWN);
  const keys = new Set(shownPeers.map(({ key }) => key));
  const names = new Set(shownTargets.map(({ name }) => name));
  return {
    peers: shownPeers.sort((a, b) => a.name.localeCompare(b.name) || a.key - b.key),
    peersLeftOut: peers.length - shownPeers.length,
    targets: shownTargets.sort((a, b) => a.name.localeCompare(b.name)),
    targetsLeftOut: targets.size - shownTargets.length,
    flows: busiest(flows.filter(({ peer, target }) => keys.has(peer) && names.has(target))).slice(0, LINES),
  };
}

function sumBy<Key>(flows: readonly Flow[], keyOf: (flow: Flow) => Key): Map<Key, { tunnels: number; rate: number }> {
  const sums = new Map<Key, { tunnels: number; rate: number }>();
  for (const flow of flows) {
    const sum = sums.get(keyOf(flow)) ?? { tunnels: 0, rate: 0 };
    sum.tunnels += flow.tunnels;
    sum.rate += flow.rate;
    sums.set(keyOf(flow), sum);
  }
  return sums;
}

function busiest<Item extends { readonly rate: number; readonly tunnels: number }>(items: readonly Item[]): Item[] {
  return [...items].sort((a, b) => b.rate - a.rate || b.tunnels - a.tunnels);
}
