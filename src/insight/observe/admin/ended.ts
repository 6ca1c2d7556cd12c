/** The last tunnels that are over, for whoever asks what became of one. */
import type { ConnectId } from "../../../tunnel/wire/packet.js";
import type { Tunnel } from "./contract.js";
import type { Carrier, TunnelEnd, TunnelFacts, TunnelRows } from "./tunnel-row.js";

const MAX_ENDED = 500;

export class EndedTunnels {
  /** A ring: `#count` is how many there ever were, the newest is behind it. */
  readonly #ring: (Tunnel | PastTunnel)[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(tunnel: Tunnel): void {
    this.#ring[this.#count++ % MAX_ENDED] = tunnel;
  }

  /** Thousands a second end, and hardly one of them is ever asked for: its row is made when it is. */
  keep(rows: TunnelRows, tunnel: TunnelFacts, carrier: Carrier | undefined, end: TunnelEnd): void {
    const at = this.#count++ % MAX_ENDED;
    const before = this.#ring[at];
    if (before instanceof PastTunnel) before.become(rows, tunnel, carrier, end);
    else this.#ring[at] = new PastTunnel(rows, tunnel, carrier, end);
  }

  /** Those after the first `count` there ever were, newest first, `limit` at most. */
  since(count: number, limit = MAX_ENDED): Tunnel[] {
    const found: Tunnel[] = [];
    const first = Math.max(count, this.#count - Math.min(limit, MAX_ENDED));
    for (let at = this.#count - 1; at >= first; at--) found.push(rowOf(this.#ring[at % MAX_ENDED]!));
    return found;
  }

  find(id: number): Tunnel | undefined {
    const found = this.#ring.find((tunnel) => tunnel.id === id);
    return found && rowOf(found);
  }
}

function rowOf(tunnel: Tunnel | PastTunnel): Tunnel {
  return tunnel instanceof PastTunnel ? tunnel.describe() : tunnel;
}

const NO_PORT = { queuedBytes: 0 };

/** What is left of a tunnel: only what its row needs, and written over by the next, so that nothing has to be collected. */
class PastTunnel implements TunnelFacts {
  readonly port = NO_PORT;
  info!: TunnelFacts["info"];
  connectId: ConnectId | undefined;
  bytesToFar = 0;
  bytesToNear = 0;
  firstToFarAt = 0;
  firstToNearAt = 0;
  nearEndedAt = 0;
  farEndedAt = 0;
  sendWindow: number | undefined;
  receiveWindow: number | undefined;
  paused = false;
  #rows!: TunnelRows;
  #carrier: Carrier | undefined;
  #end!: TunnelEnd;

  constructor(rows: TunnelRows, tunnel: TunnelFacts, carrier: Carrier | undefined, end: TunnelEnd) {
    this.become(rows, tunnel, carrier, end);
  }

  get id(): number {
    return this.info.id;
  }

  become(rows: TunnelRows, tunnel: TunnelFacts, carrier: Carrier | undefined, end: TunnelEnd): void {
    this.#rows = rows;
    this.#carrier = carrier;
    this.#end = end;
    this.info = tunnel.info;
    this.connectId = tunnel.connectId;
    this.bytesToFar = tunnel.bytesToFar;
    this.bytesToNear = tunnel.bytesToNear;
    this.firstToFarAt = tunnel.firstToFarAt;
    this.firstToNearAt = tunnel.firstToNearAt;
    this.nearEndedAt = tunnel.nearEndedAt;
    this.farEndedAt = tunnel.farEndedAt;
    this.sendWindow = tunnel.sendWindow;
    this.receiveWindow = tunnel.receiveWindow;
    this.paused = tunnel.paused;
  }

  describe(): Tunnel {
    return this.#rows.closed(this, this.#carrier, this.#end);
  }
}
