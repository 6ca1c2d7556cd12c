/** Finds what has changed since the last comparison: once for all readers of the stream, and only while there are readers. */
import { isDeepStrictEqual } from "node:util";
import type { AgentPeer, ChangeEvent, Changes, ServerPeer, TunnelChanges, TunnelPatch, TunnelRow } from "./contract.js";
import type { AdminModel } from "./model.js";
import type { LiveTunnel } from "./observed-role.js";

/** Rows made in one comparison; when more tunnels have changed, the next comparison takes the others. */
const MAX_ROWS = 1_000;
/** Tunnels that are compared in one turn of the event loop: a millisecond or two (bench/admin-look.ts). */
const STEP = 1_000;
const MAX_ENDED = 100;
const MAX_REFUSALS = 50;

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

interface Known {
  row: TunnelRow;
  /** The number of the comparison that saw it last. */
  seen: number;
}

export class Differ {
  readonly #model: AdminModel;
  readonly #tunnels = new Map<number, Known>();
  /** Rows made between two comparisons for one reader's snapshot; the other readers do not have them yet. */
  #learnt: TunnelRow[] = [];
  #look = 0;
  /** How many of the changed tunnels earlier comparisons have covered. */
  #turn = 0;
  readonly #agents = new PeerChanges<AgentPeer>();
  readonly #servers = new PeerChanges<ServerPeer>();
  readonly #last = new Map<string, string>();
  #ended: number;
  #refusals: number;

  constructor(model: AdminModel) {
    this.#model = model;
    this.#ended = model.ended.count;
    this.#refusals = model.refusals.count;
    this.#rest();
    const { subject } = model;
    this.#agents.next(subject.agents?.() ?? []);
    this.#servers.next(subject.servers?.() ?? []);
  }

  /** The row as readers know it, or from now on will. */
  rowOf(live: LiveTunnel, othersListen: boolean): TunnelRow {
    const known = this.#tunnels.get(live.id);
    if (known !== undefined) return known.row;
    const row = live.describe();
    this.#tunnels.set(live.id, { row, seen: this.#look });
    if (othersListen) this.#learnt.push(row);
    return row;
  }

  /**
   * One comparison, in steps between which the event loop turns. Returns undefined when nothing changed. Rows that a
   * reader gets in between are at least as new as this change, so laying it over them does no harm.
   */
  *look(): Generator<void, ChangeEvent | undefined> {
    const { subject, ended, refusals } = this.#model;
    const tunnels = subject.tunnels && (yield* this.#lookAtTunnels(subject.tunnels()));
    const change: Mutable<Partial<ChangeEvent>> = this.#rest();
    if (tunnels !== undefined) change.tunnels = tunnels;
    const agents = subject.agents && this.#agents.next(subject.agents());
    if (agents !== undefined) change.agents = agents;
    const servers = subject.servers && this.#servers.next(subject.servers());
    if (servers !== undefined) change.servers = servers;
    const over = ended.since(this.#ended, MAX_ENDED);
    this.#ended = ended.count;
    if (over.length > 0) change.ended = over;
    const refused = refusals.count - this.#refusals;
    this.#refusals = refusals.count;
    if (refused > 0) change.refusals = refusals.list(Math.min(refused, MAX_REFUSALS));
    if (Object.keys(change).length === 0) return undefined;
    return { totals: this.#model.totals(), ...change };
  }

  /** What is small enough to be compared as a whole. */
  #rest(): Mutable<Partial<ChangeEvent>> {
    const model = this.#model;
    const change: Mutable<Partial<ChangeEvent>> = {};
    const { now: _now, ...process } = model.process();
    if (this.#isNews("process", process)) change.process = model.process();
    const { at: _at, ...totals } = model.totals();
    if (this.#isNews("totals", totals)) change.totals = model.totals();
    const path = model.subject.path?.();
    if (path !== undefined && this.#isNews("path", path)) change.path = path;
    if (this.#isNews("listeners", model.listeners)) change.listeners = model.listeners;
    const certificates = model.certificates();
    if (this.#isNews("certificates", certificates)) change.certificates = certificates;
    const gathered = Object.entries(model.subject.gathered?.() ?? {}) as [string, object][];
    return Object.assign(change, Object.fromEntries(gathered.filter(([what, value]) => this.#isNews(what, value))));
  }

  #isNews(what: string, value: object): boolean {
    const json = JSON.stringify(value);
    if (this.#last.get(what) === json) return false;
    this.#last.set(what, json);
    return true;
  }

  *#lookAtTunnels(tunnels: Iterable<LiveTunnel>): Generator<void, TunnelChanges | undefined> {
    const look = ++this.#look;
    const opened = this.#learnt;
    this.#learnt = [];
    const changed: TunnelPatch[] = [];
    let looked = 0;
    let moved = 0;
    for (const live of tunnels) {
      if (++looked % STEP === 0) yield;
      const known = this.#tunnels.get(live.id);
      if (known !== undefined) {
        known.seen = look;
        if (!hasMoved(known.row, live)) continue;
        moved++;
        // Too many for one change are taken in turns.
        if (moved > this.#turn && changed.length < MAX_ROWS) changed.push(this.#patch(live, known));
      } else if (opened.length < MAX_ROWS) {
        const row = live.describe();
        this.#tunnels.set(live.id, { row, seen: look });
        opened.push(row);
      }
    }
    const last = this.#turn + changed.length;
    this.#turn = last < moved ? last : 0;
    const gone: number[] = [];
    for (const [id, { seen }] of this.#tunnels) if (seen !== look) gone.push(id);
    for (const id of gone) this.#tunnels.delete(id);
    return opened.length + changed.length + gone.length === 0 ? undefined : { opened, changed, gone };
  }

  #patch(live: LiveTunnel, known: Known): TunnelPatch {
    const before = known.row;
    const after = live.describe();
    known.row = after;
    return patchBetween(before, after);
  }
}

/** What may change while a tunnel lives, beside its marks and, when a dial is tried a second time, its agent. */
const CHANGING = [
  ...(["state", "bytesToTarget", "bytesFromTarget", "queuedBytes", "paused"] as const),
  ...(["sendWindowBytes", "receiveWindowBytes", "connectId"] as const),
];

function patchBetween(before: TunnelRow, after: TunnelRow): TunnelPatch {
  const patch: Mutable<TunnelPatch> = { id: after.id };
  for (const field of CHANGING) {
    const value = after[field];
    if (value !== undefined && value !== before[field]) Object.assign(patch, { [field]: value });
  }
  const { agent } = after;
  if (agent !== undefined && agent.key !== before.agent?.key) patch.agent = agent;
  // Marks are only ever added; that of the dial may move until it is answered.
  if (marksOf(after) !== marksOf(before) || after.marks.dialled !== before.marks.dialled) patch.marks = after.marks;
  return patch;
}

function marksOf({ marks }: TunnelRow): number {
  let count = 0;
  for (const _mark in marks) count++;
  return count;
}

function hasMoved(row: TunnelRow, live: LiveTunnel): boolean {
  return (
    row.bytesToTarget !== live.bytesToTarget ||
    row.bytesFromTarget !== live.bytesFromTarget ||
    row.queuedBytes !== live.queuedBytes ||
    row.state !== live.state ||
    // A tunnel that is stuck moves nothing; that it is paused is all there is to see.
    row.paused !== live.paused ||
    // A dial that is tried a second time, elsewhere.
    row.agent?.key !== live.agentKey
  );
}

class PeerChanges<Peer extends { readonly key: number }> {
  #known = new Map<number, Peer>();

  next(peers: Iterable<Peer>): Changes<Peer> | undefined {
    const before = this.#known;
    const now = new Map<number, Peer>();
    const changed: Peer[] = [];
    for (const peer of peers) {
      now.set(peer.key, peer);
      const known = before.get(peer.key);
      if (known === undefined || !isDeepStrictEqual(known, peer)) changed.push(peer);
    }
    const gone = [...before.keys()].filter((key) => !now.has(key));
    this.#known = now;
    return changed.length + gone.length === 0 ? undefined : { changed, gone };
  }
}
