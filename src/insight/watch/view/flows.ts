/** Who talks to whom, how much, and how well: the tunnels summed up for the map. */
import { sum } from "../../../base/sum.js";
import type { HistoryInfo, Totals, TunnelRow } from "../../observe/admin/contract.js";
import { secondsBetween } from "./history.js";
import { type ProcessView, peerId } from "./process-view.js";
import { bySeverity, peerSeverity, type Severity, targetSeverity } from "./severity.js";

/** One line of the map: from the peer that carries the tunnels to a target. */
export interface Flow {
  /** Key of the agent (or, at an agent or sidecar, of the server). */
  readonly peer: number;
  readonly target: string;
  readonly tunnels: number;
  /** Bytes a second, both ways. */
  readonly rate: number;
}

export interface OnMap {
  readonly name: string;
  readonly tunnels: number;
  readonly rate: number;
  /** In ten minutes. */
  readonly dials: number;
  readonly severity: Severity;
  /** How many it stands for, where they are too many to be drawn one by one. */
  readonly members?: number;
}

export interface PeerOnMap extends OnMap {
  readonly key: number;
}

export interface FlowMap {
  readonly peers: readonly PeerOnMap[];
  readonly targets: readonly OnMap[];
  readonly flows: readonly Flow[];
}

/** What else is known of those on the map. */
export interface Wellbeing {
  readonly troubles: ReadonlyMap<string, Severity>;
  readonly history?: Pick<HistoryInfo, "targets" | "peers"> | undefined;
}

/** More do not fit on a screen; those in trouble and the busiest are shown, the rest is one. */
export const SHOWN = 9;
/** More lines would be a carpet. */
const LINES = 60;
/** How long the same ones are drawn, although others may be busier for a moment. */
const CHOSEN_MS = 30_000;
const REST_KEY = Number.MIN_SAFE_INTEGER;
const REST_NAME = "";

/** Remembers how many bytes each tunnel had, so that the next measurement gives rates. */
export class FlowMeter {
  #bytes = new Map<number, number>();
  /** Whose tunnels they are, and when they were measured. */
  #last: { readonly instance: string; readonly totals: Totals; readonly at: number } | undefined;
  /** A sidecar does not say which server carries a tunnel, but which of its listeners it came in by. */
  readonly #listeners = new Map<string, number>();
  readonly #peerChoice = new Choice<PeerOnMap>(({ key }) => key);
  readonly #targetChoice = new Choice<OnMap>(({ name }) => name);

  measure(view: ProcessView, now: number, wellbeing: Wellbeing = { troubles: new Map() }): FlowMap {
    const { process, totals } = view.facts;
    const last = this.#last?.instance === process.instance ? this.#last : undefined;
    const seconds = last === undefined ? 0 : secondsBetween(last.totals, totals, now - last.at);
    this.#last = { instance: process.instance, totals, at: now };
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
    const peers = this.#peersOf(view, [...flows.values()], wellbeing);
    addDialled(flows, peers, wellbeing);
    return this.#drawing(peers, [...flows.values()], wellbeing, now);
  }

  /** Its number on the map; peers have numbers from zero on. */
  #listenerOf({ listener }: TunnelRow): number | undefined {
    if (listener === undefined) return undefined;
    const known = this.#listeners.get(listener) ?? -1 - this.#listeners.size;
    this.#listeners.set(listener, known);
    return known;
  }

  /** Where flows begin at listeners, servers of which no load is known would only stand about. */
  #peersOf({ agents, servers }: ProcessView, flows: readonly Flow[], { troubles, history }: Wellbeing): PeerOnMap[] {
    const dialled = new Map(history?.peers.map((each) => [each.id, each]));
    const sums = sumBy(flows, ({ peer }) => peer);
    const listeners = [...this.#listeners].flatMap(([name, key]): PeerOnMap[] => {
      const load = sums.get(key);
      return load === undefined ? [] : [{ key, name, ...load, dials: 0, severity: "good" }];
    });
    if (listeners.length > 0) return listeners;
    return [...agents.values(), ...servers.values()].map((peer) => ({
      key: peer.key,
      name: peerId(peer),
      ...(sums.get(peer.key) ?? { tunnels: 0, rate: 0 }),
      dials: sum(dialled.get(peerId(peer))?.dials ?? []),
      severity: peerSeverity(peer, troubles),
    }));
  }

  #drawing(peers: readonly PeerOnMap[], flows: readonly Flow[], { history }: Wellbeing, now: number): FlowMap {
    const loads = sumBy(flows, ({ target }) => target);
    const known = new Map(history?.targets.map((each) => [each.target, each]));
    const targets = [...new Set([...loads.keys(), ...known.keys()])].map((name): OnMap => {
      const { tunnels, rate } = loads.get(name) ?? { tunnels: 0, rate: 0 };
      const series = known.get(name);
      const severity = series === undefined ? "good" : targetSeverity(series);
      return { name, tunnels, rate, dials: sum(series?.dials ?? []), severity };
    });
    const [shownPeers, otherPeers] = this.#peerChoice.of(peers, now);
    const [shownTargets, otherTargets] = this.#targetChoice.of(targets, now);
    const keys = new Set(shownPeers.map(({ key }) => key));
    const names = new Set(shownTargets.map(({ name }) => name));
    const lines = new Map<string, Mutable<Flow>>();
    for (const { peer, target, tunnels, rate } of flows) {
      const line = { peer: keys.has(peer) ? peer : REST_KEY, target: names.has(target) ? target : REST_NAME };
      const id = `${line.peer} ${line.target}`;
      const load = lines.get(id) ?? { ...line, tunnels: 0, rate: 0 };
      load.tunnels += tunnels;
      load.rate += rate;
      lines.set(id, load);
    }
    return {
      peers: [...shownPeers, ...restOf(otherPeers).map((rest) => ({ ...rest, key: REST_KEY }))],
      targets: [...shownTargets, ...restOf(otherTargets)],
      flows: busiest([...lines.values()]).slice(0, LINES),
    };
  }
}

/** Which ones are drawn: those in trouble, and the busiest, which stay for a while so that the drawing does not jump. */
class Choice<Item extends OnMap> {
  readonly #idOf: (item: Item) => string | number;
  #chosen = new Set<string | number>();
  #chosenAt = Number.NEGATIVE_INFINITY;

  constructor(idOf: (item: Item) => string | number) {
    this.#idOf = idOf;
  }

  /** Those that are drawn, by name, and the others. */
  of(items: readonly Item[], now: number): [shown: Item[], others: Item[]] {
    if (items.length <= SHOWN + 1) return [[...items].sort(byName), []];
    const isDue = now - this.#chosenAt >= CHOSEN_MS;
    const stays = (item: Item): number => (!isDue && this.#chosen.has(this.#idOf(item)) ? 0 : 1);
    const sorted = busiest(items).sort((a, b) => bySeverity(a.severity, b.severity) || stays(a) - stays(b));
    const shown = sorted.slice(0, SHOWN);
    this.#chosen = new Set(shown.map(this.#idOf));
    // Before the first rates are known nobody is busier than others.
    if (isDue && sorted.some(({ rate }) => rate > 0)) this.#chosenAt = now;
    return [shown.sort(byName), sorted.slice(SHOWN)];
  }
}

const collator = new Intl.Collator("en", { numeric: true });
/** `node-2` before `node-10`. */
export const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  collator.compare(one.name, other.name);

function restOf(others: readonly OnMap[]): OnMap[] {
  if (others.length === 0) return [];
  const rest = {
    name: REST_NAME,
    severity: others[0]!.severity,
    members: others.length,
    tunnels: 0,
    rate: 0,
    dials: 0,
  };
  for (const { tunnels, rate, dials } of others) {
    rest.tunnels += tunnels;
    rest.rate += rate;
    rest.dials += dials;
  }
  return [rest];
}

/** A target may have no tunnel at this moment: it cannot be reached, or whoever asked it has its answer. */
function addDialled(flows: Map<string, Flow>, peers: readonly PeerOnMap[], { history }: Wellbeing): void {
  // Two may claim one name.
  const keys = new Map<string, PeerOnMap[]>();
  for (const peer of peers) keys.set(peer.name, [...(keys.get(peer.name) ?? []), peer]);
  for (const { target, peers: names = [] } of history?.targets ?? []) {
    for (const { key } of names.flatMap((name) => keys.get(name) ?? [])) {
      const id = `${key} ${target}`;
      if (!flows.has(id)) flows.set(id, { peer: key, target, tunnels: 0, rate: 0 });
    }
  }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

function sumBy<Key>(flows: readonly Flow[], keyOf: (flow: Flow) => Key): Map<Key, { tunnels: number; rate: number }> {
  const sums = new Map<Key, { tunnels: number; rate: number }>();
  for (const flow of flows) {
    const load = sums.get(keyOf(flow)) ?? { tunnels: 0, rate: 0 };
    load.tunnels += flow.tunnels;
    load.rate += flow.rate;
    sums.set(keyOf(flow), load);
  }
  return sums;
}

function busiest<Item extends Pick<Flow, "rate" | "tunnels"> & { readonly dials?: number }>(
  items: readonly Item[],
): Item[] {
  return [...items].sort((a, b) => b.rate - a.rate || b.tunnels - a.tunnels || (b.dials ?? 0) - (a.dials ?? 0));
}
