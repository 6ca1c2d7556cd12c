/** Finds what has changed since the last comparison: once for all readers of the stream, and only while there are readers. */
import { isDeepStrictEqual } from "node:util";
import type { ChangeEvent, Changes, Overview, SnapshotEvent, TunnelRow } from "./contract.js";
import type { AdminModel } from "./model.js";
import type { LiveTunnel } from "./observed-role.js";

/** Known tunnels in one comparison; when more of them have changed, the next comparison takes the others. */
const MAX_CHANGED = 1_000;
/** Tunnels that are compared in one turn of the event loop: a millisecond or two (bench/admin-look.ts). */
const STEP = 1_000;
/** So many tunnels are made into text in one turn: some tenths of a millisecond. */
const PORTION = 200;
const MAX_ENDED = 100;
const MAX_REFUSALS = 50;

export class Differ {
  readonly #model: AdminModel;
  /** The tunnels as readers know them, each with the number of the comparison that saw it last. */
  readonly #tunnels = new Map<number, { row: TunnelRow; seen: number }>();
  #look = 0;
  /** Everything else as readers know it. */
  #overview: Overview;
  #ended: number;
  #refusals: number;
  /** How many of the changed tunnels earlier comparisons have covered. */
  #turn = 0;

  constructor(model: AdminModel) {
    this.#model = model;
    this.#overview = model.overview();
    this.#ended = model.ended.count;
    this.#refusals = model.refusals.count;
  }

  /** What a new reader gets first, so that it continues from the same state as the others. */
  get snapshot(): SnapshotEvent {
    const { ended } = this.#model;
    // Those that ended since the last comparison come with the next one.
    const known = ended.since(0, MAX_ENDED).slice(ended.count - this.#ended);
    return { ...this.#overview, process: this.#model.process(), ended: known };
  }

  /** The tunnels that the others know at this moment, which a new reader gets next; changes may come in between. */
  *portions(ids = [...this.#tunnels.keys()]): Generator<ChangeEvent> {
    for (let at = 0; at < ids.length; at += PORTION) {
      yield this.#portion(ids.slice(at, at + PORTION).flatMap((id) => this.#tunnels.get(id)?.row ?? []));
    }
  }

  #portion(changed: readonly TunnelRow[]): ChangeEvent {
    return { totals: this.#overview.totals, tunnels: { changed, gone: [] } };
  }

  /** One comparison, in steps between which the event loop turns; each may have found something. */
  *look(): Generator<ChangeEvent | undefined> {
    const { subject, ended, refusals } = this.#model;
    const tunnels = subject.tunnels && (yield* this.#lookAtTunnels(subject.tunnels()));
    const before = this.#overview;
    this.#overview = this.#model.overview();
    const { agents, servers, refusals: _listed, ...facts } = this.#overview;
    const change = {
      ...Object.fromEntries(
        Object.entries(facts).filter(([name, fact]) => !isSame(fact, before[name as keyof Overview])),
      ),
      tunnels,
      agents: peerChanges(before.agents, agents),
      servers: peerChanges(before.servers, servers),
      ended: listed(ended.since(this.#ended, MAX_ENDED)),
      refusals: listed(refusals.since(this.#refusals, MAX_REFUSALS)),
    };
    this.#ended = ended.count;
    this.#refusals = refusals.count;
    if (Object.values(change).some((value) => value !== undefined)) yield { totals: facts.totals, ...change };
  }

  *#lookAtTunnels(tunnels: Iterable<LiveTunnel>): Generator<ChangeEvent | undefined, Changes<TunnelRow> | undefined> {
    const seen = ++this.#look;
    let changed: TunnelRow[] = [];
    let [looked, moved, taken] = [0, 0, 0];
    for (const live of tunnels) {
      if (++looked % STEP === 0) yield undefined;
      const known = this.#tunnels.get(live.id);
      if (known !== undefined) {
        known.seen = seen;
        if (!hasMoved(known.row, live)) continue;
        moved++;
        // Too many for one comparison are taken in turns.
        if (moved <= this.#turn || taken === MAX_CHANGED) continue;
        taken++;
      }
      if (changed.length === PORTION) {
        yield this.#portion(changed);
        changed = [];
      }
      const row = live.describe();
      this.#tunnels.set(live.id, { row, seen });
      changed.push(row);
    }
    const last = this.#turn + taken;
    this.#turn = last < moved ? last : 0;
    const gone: number[] = [];
    for (const [id, known] of this.#tunnels) if (known.seen !== seen) gone.push(id);
    for (const id of gone) this.#tunnels.delete(id);
    return changed.length + gone.length === 0 ? undefined : { changed, gone };
  }
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

/** Apart from the time of the answer, which is `now` of the process and `at` of the totals. */
function isSame(one: unknown, other: unknown): boolean {
  const text = (fact: unknown): string => JSON.stringify({ ...(fact as object), now: 0, at: 0 });
  return one === other || text(one) === text(other);
}

const listed = <Item>(items: readonly Item[]) => (items.length === 0 ? undefined : items);

function peerChanges<Peer extends { readonly key: number }>(
  before: readonly Peer[] = [],
  after: readonly Peer[] = [],
): Changes<Peer> | undefined {
  const known = new Map(before.map((peer) => [peer.key, peer]));
  const changed = after.filter((peer) => !isDeepStrictEqual(known.get(peer.key), peer));
  for (const { key } of after) known.delete(key);
  return changed.length + known.size === 0 ? undefined : { changed, gone: [...known.keys()] };
}
