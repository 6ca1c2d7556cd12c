/** Who talks to whom, how much, and how well: the tunnels summed up for the map. */
import type { FailureGroup, HistoryInfo, TunnelRow } from "../../observe/admin/contract.js";
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
  readonly history?: Pick<HistoryInfo, "targets" | "failures"> | undefined;
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
  #at: number | undefined;
  /** Whose tunnels they are. */
  #instance = "";
  /** A sidecar does not say which server carries a tunnel, but which of its listeners it came in by. */
  readonly #listeners = new Map<string, number>();
  readonly #peerChoice = new Choice<PeerOnMap>(({ key }) => key);
  readonly #targetChoice = new Choice<OnMap>(({ name }) => name);

  measure(view: ProcessView, now: number, wellbeing: Wellbeing = { troubles: new Map() }): FlowMap {
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
    const peers = this.#peersOf(view, [...flows.values()], wellbeing);
    for (const failure of wellbeing.history?.failures ?? []) addFailed(flows, failure, peers, wellbeing);
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
  #peersOf({ agents, servers }: ProcessView, flows: readonly Flow[], { troubles }: Wellbeing): PeerOnMap[] {
    const sums = sumBy(flows, ({ peer }) => peer);
    const listeners = [...this.#listeners].flatMap(([name, key]): PeerOnMap[] => {
      const sum = sums.get(key);
      return sum === undefined ? [] : [{ key, name, ...sum, severity: "good" }];
    });
    if (listeners.length > 0) return listeners;
    return [...agents.values(), ...servers.values()].map((peer) => ({
      key: peer.key,
      name: peerId(peer),
      ...(sums.get(peer.key) ?? { tunnels: 0, rate: 0 }),
      severity: peerSeverity(peer, troubles),
    }));
  }

  #drawing(peers: readonly PeerOnMap[], flows: readonly Flow[], { history }: Wellbeing, now: number): FlowMap {
    const severities = new Map(history?.targets.map((each) => [each.target, targetSeverity(each)]));
    const targets = [...sumBy(flows, ({ target }) => target)].map(([name, sum]): OnMap => {
      return { name, ...sum, severity: severities.get(name) ?? "good" };
    });
    const [shownPeers, otherPeers] = this.#peerChoice.of(peers, now);
    const [shownTargets, otherTargets] = this.#targetChoice.of(targets, now);
    const keys = new Set(shownPeers.map(({ key }) => key));
    const names = new Set(shownTargets.map(({ name }) => name));
    const lines = new Map<string, Mutable<Flow>>();
    for (const { peer, target, tunnels, rate } of flows) {
      const line = { peer: keys.has(peer) ? peer : REST_KEY, target: names.has(target) ? target : REST_NAME };
      const id = `${line.peer} ${line.target}`;
      const sum = lines.get(id) ?? { ...line, tunnels: 0, rate: 0 };
      sum.tunnels += tunnels;
      sum.rate += rate;
      lines.set(id, sum);
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
    if (isDue) this.#chosenAt = now;
    return [shown.sort(byName), sorted.slice(SHOWN)];
  }
}

const collator = new Intl.Collator("en", { numeric: true });
/** `node-2` before `node-10`. */
export const byName = (one: { readonly name: string }, other: { readonly name: string }): number =>
  collator.compare(one.name, other.name);

function restOf(others: readonly OnMap[]): OnMap[] {
  if (others.length === 0) return [];
  const rest = { name: REST_NAME, severity: others[0]!.severity, members: others.length, tunnels: 0, rate: 0 };
  for (const { tunnels, rate } of others) {
    rest.tunnels += tunnels;
    rest.rate += rate;
  }
  return [rest];
}

/** A target that cannot be reached has no tunnels, and is what people look for. */
function addFailed(
  flows: Map<string, Flow>,
  { target, peers: names }: FailureGroup,
  peers: readonly PeerOnMap[],
  { history }: Wellbeing,
): void {
  const series = history?.targets.find((each) => each.target === target);
  if (series === undefined || targetSeverity(series) === "good") return;
  for (const { key } of peers.filter(({ name }) => names.includes(name))) {
    const id = `${key} ${target}`;
    if (!flows.has(id)) flows.set(id, { peer: key, target, tunnels: 0, rate: 0 });
  }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

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
