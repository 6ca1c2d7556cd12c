/** A tunnel of a server or an agent as the API shows it. The same class on both sides, seen from opposite ends. */

import { shown } from "../../../base/redact/redact.js";
import type { DialFacts, Tunnel } from "../../../tunnel/connection/tunnel.js";
import type { ConnectId } from "../../../tunnel/wire/packet.js";
import type { TunnelFrontend, TunnelMarks, TunnelRow, TunnelState } from "./contract.js";
import type { LiveTunnel } from "./observed-role.js";

/** What is needed of a tunnel; times are of the role's clock, 0 for what has not happened. */
export interface TunnelFacts
  extends Pick<Tunnel, "bytesToFar" | "bytesToNear" | "firstToFarAt" | "firstToNearAt" | "nearEndedAt" | "farEndedAt">,
    Pick<Tunnel, "sendWindow" | "receiveWindow" | "paused"> {
  readonly connectId?: ConnectId | undefined;
  readonly info: ShownDial & { readonly openedAt: number };
  readonly port: { readonly queuedBytes: number };
}

/** What is known of a dial from the first moment. */
export interface ShownDial extends Omit<DialFacts, "frontend"> {
  readonly frontend?: TunnelFrontend;
  /** At a sidecar: the listener's name. */
  readonly listener?: string;
}

/** The agent or the server at the other end of the link. */
export type LinkPeer = Pick<TunnelRow, "agent" | "server">;

export interface TunnelEnd {
  readonly at: number;
  readonly reason: string;
  readonly error?: string | undefined;
  readonly refusalId?: string | undefined;
}

/** Turns facts into rows for one role. Ten thousand at a time, twice a second: hence the plain code. */
export class TunnelRows {
  readonly targetIsNear: boolean;
  readonly #epoch: number;

  /** A sidecar has its targets where a server does. `epoch`: the role's clock plus this is milliseconds since 1970. */
  constructor(role: "server" | "agent", epoch: number) {
    this.targetIsNear = role === "agent";
    this.#epoch = epoch;
  }

  open(tunnel: TunnelFacts, peer: LinkPeer = {}): LiveTunnel {
    return new CurrentTunnel(this, tunnel.info, peer, tunnel);
  }

  dialing(dial: ShownDial, peer: LinkPeer = {}): LiveTunnel {
    return new CurrentTunnel(this, dial, peer, undefined);
  }

  /**
   * A tunnel that has ended, or a dial that failed. Thousands end in a second, and hardly one of them is ever asked for:
   * only what the row needs is kept, and the row is made on demand.
   */
  ended(ended: TunnelFacts | ShownDial, peer: LinkPeer | undefined, end: TunnelEnd): EndedTunnel {
    const tunnel = "info" in ended ? copyOf(ended) : undefined;
    const dial = "info" in ended ? ended.info : ended;
    const state = tunnel === undefined ? "failed" : "closed";
    return { id: dial.id, describe: () => withEnd(this.row(dial, peer ?? {}, state, tunnel), end, dial.askedAt) };
  }

  row(dial: ShownDial, { agent, server }: LinkPeer, state: TunnelState, tunnel?: TunnelFacts): TunnelRow {
    const marks: Mutable<TunnelMarks> = {};
    const row: Mutable<TunnelRow> = {
      id: dial.id,
      target: shown(dial.address),
      state,
      askedAt: Math.round(this.#epoch + dial.askedAt),
      marks,
      bytesToTarget: 0,
      bytesFromTarget: 0,
      queuedBytes: 0,
    };
    if (dial.frontend !== undefined) row.frontend = dial.frontend;
    if (dial.listener !== undefined) row.listener = dial.listener;
    if (agent !== undefined) row.agent = agent;
    if (server !== undefined) row.server = server;
    const mark = (name: keyof TunnelMarks, at: number): void => {
      if (at > 0) marks[name] = sinceAsked(at, dial.askedAt);
    };
    mark("dialled", dial.dialledAt);
    if (tunnel === undefined) return row;
    const { sendWindow, receiveWindow } = tunnel;
    const near = this.targetIsNear;
    if (tunnel.connectId !== undefined) row.connectId = String(tunnel.connectId);
    row.bytesToTarget = near ? tunnel.bytesToNear : tunnel.bytesToFar;
    row.bytesFromTarget = near ? tunnel.bytesToFar : tunnel.bytesToNear;
    row.queuedBytes = tunnel.port.queuedBytes;
    row.paused = tunnel.paused;
    if (sendWindow !== undefined) row.sendWindowBytes = sendWindow;
    if (receiveWindow !== undefined) row.receiveWindowBytes = receiveWindow;
    mark("answered", tunnel.info.openedAt);
    mark("firstByteToTarget", near ? tunnel.firstToNearAt : tunnel.firstToFarAt);
    mark("firstByteFromTarget", near ? tunnel.firstToFarAt : tunnel.firstToNearAt);
    mark("callerEnded", near ? tunnel.farEndedAt : tunnel.nearEndedAt);
    mark("targetEnded", near ? tunnel.nearEndedAt : tunnel.farEndedAt);
    return row;
  }
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A tunnel that is open or, without one, a dial under way. */
class CurrentTunnel implements LiveTunnel {
  readonly #rows: TunnelRows;
  readonly #dial: ShownDial;
  readonly #peer: LinkPeer;
  readonly #tunnel: TunnelFacts | undefined;

  constructor(rows: TunnelRows, dial: ShownDial, peer: LinkPeer, tunnel: TunnelFacts | undefined) {
    this.#rows = rows;
    this.#dial = dial;
    this.#peer = peer;
    this.#tunnel = tunnel;
  }

  get id(): number {
    return this.#dial.id;
  }

  get target(): string {
    return this.#dial.address;
  }

  get agentKey(): number | undefined {
    return this.#peer.agent?.key;
  }

  get state(): TunnelState {
    const tunnel = this.#tunnel;
    if (tunnel === undefined) return "dialing";
    return tunnel.nearEndedAt > 0 || tunnel.farEndedAt > 0 ? "half-closed" : "open";
  }

  get bytesToTarget(): number {
    return (this.#rows.targetIsNear ? this.#tunnel?.bytesToNear : this.#tunnel?.bytesToFar) ?? 0;
  }

  get bytesFromTarget(): number {
    return (this.#rows.targetIsNear ? this.#tunnel?.bytesToFar : this.#tunnel?.bytesToNear) ?? 0;
  }

  get queuedBytes(): number {
    return this.#tunnel?.port.queuedBytes ?? 0;
  }

  get paused(): boolean | undefined {
    return this.#tunnel?.paused;
  }

  describe(): TunnelRow {
    return this.#rows.row(this.#dial, this.#peer, this.state, this.#tunnel);
  }
}

/** Without the tunnel itself, which holds sockets and buffers. */
function copyOf(tunnel: TunnelFacts): TunnelFacts {
  return {
    info: tunnel.info,
    connectId: tunnel.connectId,
    bytesToFar: tunnel.bytesToFar,
    bytesToNear: tunnel.bytesToNear,
    firstToFarAt: tunnel.firstToFarAt,
    firstToNearAt: tunnel.firstToNearAt,
    nearEndedAt: tunnel.nearEndedAt,
    farEndedAt: tunnel.farEndedAt,
    sendWindow: tunnel.sendWindow,
    receiveWindow: tunnel.receiveWindow,
    paused: tunnel.paused,
    port: NO_PORT,
  };
}

const NO_PORT = { queuedBytes: 0 };

function withEnd(row: TunnelRow, end: TunnelEnd, askedAt: number): TunnelRow {
  return {
    ...row,
    marks: { ...row.marks, ended: sinceAsked(end.at, askedAt) },
    endReason: shown(end.reason),
    ...(end.error === undefined ? {} : { lastError: shown(end.error) }),
    ...(end.refusalId === undefined ? {} : { refusalId: end.refusalId }),
  };
}

/** A hundredth of a millisecond is as fine as anybody draws. */
function sinceAsked(at: number, askedAt: number): number {
  return Math.round((at - askedAt) * 100) / 100;
}

const MAX_ENDED = 500;

export type EndedTunnel = Pick<LiveTunnel, "id" | "describe">;

/** The last tunnels that have ended, for whoever asks what became of one. */
export class EndedTunnels {
  /** A ring: `#count` is how many there ever were, and the newest is the one before that place. */
  readonly #ring: EndedTunnel[] = [];
  #count = 0;

  get count(): number {
    return this.#count;
  }

  add(tunnel: EndedTunnel): void {
    this.#ring[this.#count++ % MAX_ENDED] = tunnel;
  }

  /** Those after the first `count` there ever were, newest first, `limit` at most. */
  since(count: number, limit = MAX_ENDED): TunnelRow[] {
    const found: TunnelRow[] = [];
    const first = Math.max(count, this.#count - Math.min(limit, MAX_ENDED));
    for (let at = this.#count - 1; at >= first; at--) found.push(this.#ring[at % MAX_ENDED]!.describe());
    return found;
  }

  find(id: number): TunnelRow | undefined {
    return this.#ring.find((tunnel) => tunnel.id === id)?.describe();
  }
}
