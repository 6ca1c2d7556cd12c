/** A tunnel of a server, an agent or a sidecar as the API shows it. The same class on both sides, seen from opposite ends. */

import { shown } from "../../../base/redact/redact.js";
import type { DialFacts, Tunnel } from "../../../tunnel/connection/tunnel.js";
import type { ConnectId, DialId } from "../../../tunnel/wire/packet.js";
import { type Kept, Recent } from "../recent.js";
import type { TunnelFrontend, TunnelMarks, TunnelRow } from "./contract.js";
import type { LiveTunnel } from "./observed-role.js";

/** What is needed of a tunnel; times are of the role's clock, 0 for what has not happened. */
export interface TunnelFacts
  extends Pick<Tunnel, "bytesToFar" | "bytesToNear" | "firstToFarAt" | "firstToNearAt" | "nearEndedAt" | "farEndedAt">,
    Pick<Tunnel, "sendWindow" | "receiveWindow" | "paused"> {
  readonly connectId?: ConnectId | undefined;
  readonly info: { readonly openedAt: number };
  readonly port: { readonly queuedBytes: number };
  close(reason: string): void;
}

/** What is known of a dial from the first moment. */
interface ShownDial extends Omit<DialFacts, "frontend"> {
  readonly frontend?: TunnelFrontend;
  /** At a sidecar: the listener's name. */
  readonly listener?: string;
}

/** The agent or the server at the other end of the link. */
export type LinkPeer = Pick<TunnelRow, "agent" | "server">;

interface TunnelEnd {
  readonly at: number;
  readonly reason: string;
  readonly error?: string | undefined;
  readonly refusalId?: string | undefined;
}

/** Turns facts into rows for one role. */
export class TunnelRows {
  readonly #targetIsNear: boolean;
  readonly #epoch: number;

  /** A sidecar has its targets where a server does. `epoch`: the role's clock plus this is milliseconds since 1970. */
  constructor(role: "server" | "agent", epoch: number) {
    this.#targetIsNear = role === "agent";
    this.#epoch = epoch;
  }

  /** A dial under way or, with its tunnel, one that is open. */
  live(dial: ShownDial, peer: LinkPeer = {}, tunnel?: TunnelFacts): LiveTunnel {
    return new CurrentTunnel(this.#targetIsNear, this.#epoch, dial, peer, tunnel);
  }

  /** A dial that failed or, with its tunnel, one that was open. */
  ended(dial: ShownDial, peer: LinkPeer | undefined, end: TunnelEnd, tunnel?: TunnelFacts): Kept<TunnelRow> {
    const last = this.live(dial, peer, tunnel && lastFacts(tunnel));
    const state = tunnel === undefined ? "failed" : "closed";
    return { id: dial.id, describe: () => withEnd(last.describe(), state, end, dial.askedAt) };
  }
}

/** Ten thousand at a time, twice a second: hence the plain code, and getters instead of values (bench/admin-look.ts). */
class CurrentTunnel implements LiveTunnel {
  readonly #targetIsNear: boolean;
  readonly #epoch: number;
  readonly #dial: ShownDial;
  readonly #peer: LinkPeer;
  readonly #tunnel: TunnelFacts | undefined;

  constructor(near: boolean, epoch: number, dial: ShownDial, peer: LinkPeer, tunnel: TunnelFacts | undefined) {
    this.#targetIsNear = near;
    this.#epoch = epoch;
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

  get dialId(): DialId | undefined {
    return this.#dial.dialId;
  }

  get agentKey(): number | undefined {
    return this.#peer.agent?.key;
  }

  get state(): TunnelRow["state"] {
    const tunnel = this.#tunnel;
    if (tunnel === undefined) return "dialing";
    return tunnel.nearEndedAt > 0 || tunnel.farEndedAt > 0 ? "half-closed" : "open";
  }

  get bytesToTarget(): number {
    return (this.#targetIsNear ? this.#tunnel?.bytesToNear : this.#tunnel?.bytesToFar) ?? 0;
  }

  get bytesFromTarget(): number {
    return (this.#targetIsNear ? this.#tunnel?.bytesToFar : this.#tunnel?.bytesToNear) ?? 0;
  }

  get queuedBytes(): number {
    return this.#tunnel?.port.queuedBytes ?? 0;
  }

  get paused(): boolean | undefined {
    return this.#tunnel?.paused;
  }

  close(reason: string): boolean {
    this.#tunnel?.close(reason);
    return this.#tunnel !== undefined;
  }

  describe(): TunnelRow {
    const [dial, tunnel, near] = [this.#dial, this.#tunnel, this.#targetIsNear];
    const { agent, server } = this.#peer;
    const marks: Mutable<TunnelMarks> = {};
    const row: Mutable<TunnelRow> = {
      id: dial.id,
      target: shown(dial.address),
      state: this.state,
      askedAt: Math.round(this.#epoch + dial.askedAt),
      marks,
      bytesToTarget: this.bytesToTarget,
      bytesFromTarget: this.bytesFromTarget,
      queuedBytes: this.queuedBytes,
    };
    if (dial.dialId !== undefined) row.dialId = String(dial.dialId);
    if (dial.frontend !== undefined) row.frontend = dial.frontend;
    if (dial.listener !== undefined) row.listener = dial.listener;
    if (agent !== undefined) row.agent = agent;
    if (server !== undefined) row.server = server;
    const mark = (name: keyof TunnelMarks, at: number): void => {
      if (at > 0) marks[name] = sinceAsked(at, dial.askedAt);
    };
    mark("dialled", dial.dialledAt);
    const { firstDialledAt = 0 } = dial;
    if (firstDialledAt !== dial.dialledAt) mark("firstDialled", firstDialledAt);
    if (tunnel === undefined) return row;
    const { connectId, sendWindow, receiveWindow } = tunnel;
    row.paused = tunnel.paused;
    if (connectId !== undefined) row.connectId = String(connectId);
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

/** Without the tunnel itself, which holds sockets and buffers. */
function lastFacts(tunnel: TunnelFacts): TunnelFacts {
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
    close: doNothing,
  };
}

const NO_PORT = { queuedBytes: 0 };
const doNothing = (): void => {};

function withEnd(row: TunnelRow, state: "closed" | "failed", end: TunnelEnd, askedAt: number): TunnelRow {
  return {
    ...row,
    state,
    marks: { ...row.marks, ended: sinceAsked(end.at, askedAt) },
    endReason: shown(end.reason),
    ...(end.error === undefined ? {} : { lastError: shown(end.error) }),
    ...(end.refusalId === undefined ? {} : { refusalId: end.refusalId }),
  };
}

type Mutable<T> = { -readonly [Key in keyof T]: T[Key] };

/** A hundredth of a millisecond is as fine as anybody draws. */
function sinceAsked(at: number, askedAt: number): number {
  return Math.round((at - askedAt) * 100) / 100;
}

const MAX_ENDED = 500;

/** The last tunnels that have ended, for whoever asks what became of one. */
export const endedTunnels = (): Recent<TunnelRow> => new Recent(MAX_ENDED);
