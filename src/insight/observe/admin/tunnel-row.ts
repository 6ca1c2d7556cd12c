/** A tunnel of a server or an agent as the API shows it. The same class on both sides, seen from opposite ends. */

import { shown } from "../../../base/redact/redact.js";
import type { ConnectId } from "../../../tunnel/wire/packet.js";
import type { Tunnel, TunnelFrontend, TunnelMarks, TunnelState } from "./contract.js";
import type { LiveTunnel } from "./subject.js";

/** What is needed of a tunnel; times are of the role's clock, 0 for what has not happened. */
export interface TunnelFacts {
  readonly connectId?: ConnectId | undefined;
  readonly info: ShownFacts & { readonly openedAt: number };
  readonly bytesToFar: number;
  readonly bytesToNear: number;
  readonly firstToFarAt: number;
  readonly firstToNearAt: number;
  readonly nearEndedAt: number;
  readonly farEndedAt: number;
  readonly sendWindow: number | undefined;
  readonly receiveWindow: number | undefined;
  readonly paused: boolean;
  readonly port: { readonly queuedBytes: number };
}

/** What is known of a dial from the first moment. */
export interface ShownFacts {
  readonly id: number;
  readonly address: string;
  readonly frontend?: TunnelFrontend;
  readonly listener?: string;
  readonly askedAt: number;
  readonly dialledAt: number;
}

/** Who carries it, as the role sees it. */
export type Carrier =
  | { readonly agent: NonNullable<Tunnel["agent"]> }
  | { readonly server: NonNullable<Tunnel["server"]> };

export interface TunnelEnd {
  readonly at: number;
  readonly reason: string;
  readonly error?: string;
  readonly refusalId?: string;
}

/** Turns facts into rows for one role. Ten thousand at a time, twice a second: hence the plain code. */
export class TunnelRows {
  readonly targetIsNear: boolean;
  readonly #epoch: number;

  /** A sidecar stands where a server does. `epoch`: what the role's clock has to be added to for milliseconds since 1970. */
  constructor(role: "server" | "agent", epoch: number) {
    this.targetIsNear = role === "agent";
    this.#epoch = epoch;
  }

  live(tunnel: TunnelFacts, carrier?: Carrier): LiveTunnel {
    return new StandingTunnel(this, tunnel, carrier);
  }

  dialing(asked: ShownFacts, carrier: Carrier | undefined): LiveTunnel {
    return new DialledTunnel(this, asked, carrier);
  }

  closed(tunnel: TunnelFacts, carrier: Carrier | undefined, end: TunnelEnd): Tunnel {
    return withEnd(this.row(tunnel, carrier, "closed"), end, tunnel.info.askedAt);
  }

  failed(asked: ShownFacts, carrier: Carrier | undefined, end: TunnelEnd): Tunnel {
    return withEnd(this.asked(asked, carrier, "failed"), end, asked.askedAt);
  }

  asked(asked: ShownFacts, carrier: Carrier | undefined, state: TunnelState): MutableTunnel {
    const row: MutableTunnel = {
      id: asked.id,
      target: shown(asked.address),
      state,
      askedAt: Math.round(this.#epoch + asked.askedAt),
      marks: asked.dialledAt > 0 ? { dialled: sinceAsked(asked.dialledAt, asked.askedAt) } : {},
      bytesToTarget: 0,
      bytesFromTarget: 0,
      queuedBytes: 0,
    };
    if (asked.frontend !== undefined) row.frontend = asked.frontend;
    if (asked.listener !== undefined) row.listener = asked.listener;
    if (carrier === undefined) return row;
    if ("agent" in carrier) row.agent = carrier.agent;
    else row.server = carrier.server;
    return row;
  }

  row(tunnel: TunnelFacts, carrier: Carrier | undefined, state: TunnelState): Tunnel {
    const { info, sendWindow, receiveWindow } = tunnel;
    const row = this.asked(info, carrier, state);
    const near = this.targetIsNear;
    if (tunnel.connectId !== undefined) row.connectId = String(tunnel.connectId);
    row.bytesToTarget = near ? tunnel.bytesToNear : tunnel.bytesToFar;
    row.bytesFromTarget = near ? tunnel.bytesToFar : tunnel.bytesToNear;
    row.queuedBytes = tunnel.port.queuedBytes;
    row.paused = tunnel.paused;
    if (sendWindow !== undefined) row.sendWindowBytes = sendWindow;
    if (receiveWindow !== undefined) row.receiveWindowBytes = receiveWindow;
    const marks: MutableMarks = row.marks;
    const mark = (name: keyof TunnelMarks, at: number): void => {
      if (at > 0) marks[name] = sinceAsked(at, info.askedAt);
    };
    mark("answered", info.openedAt);
    mark("firstByteToTarget", near ? tunnel.firstToNearAt : tunnel.firstToFarAt);
    mark("firstByteFromTarget", near ? tunnel.firstToFarAt : tunnel.firstToNearAt);
    mark("callerEnded", near ? tunnel.farEndedAt : tunnel.nearEndedAt);
    mark("targetEnded", near ? tunnel.nearEndedAt : tunnel.farEndedAt);
    return row;
  }
}

type MutableTunnel = { -readonly [Key in keyof Tunnel]: Tunnel[Key] };
type MutableMarks = { -readonly [Mark in keyof TunnelMarks]: TunnelMarks[Mark] };

class StandingTunnel implements LiveTunnel {
  readonly #rows: TunnelRows;
  readonly #tunnel: TunnelFacts;
  readonly #carrier: Carrier | undefined;

  constructor(rows: TunnelRows, tunnel: TunnelFacts, carrier: Carrier | undefined) {
    this.#rows = rows;
    this.#tunnel = tunnel;
    this.#carrier = carrier;
  }

  get id(): number {
    return this.#tunnel.info.id;
  }

  get target(): string {
    return this.#tunnel.info.address;
  }

  get agentKey(): number | undefined {
    return agentKeyOf(this.#carrier);
  }

  get state(): TunnelState {
    return this.#tunnel.nearEndedAt > 0 || this.#tunnel.farEndedAt > 0 ? "half-closed" : "open";
  }

  get bytesToTarget(): number {
    return this.#rows.targetIsNear ? this.#tunnel.bytesToNear : this.#tunnel.bytesToFar;
  }

  get bytesFromTarget(): number {
    return this.#rows.targetIsNear ? this.#tunnel.bytesToFar : this.#tunnel.bytesToNear;
  }

  get queuedBytes(): number {
    return this.#tunnel.port.queuedBytes;
  }

  get paused(): boolean {
    return this.#tunnel.paused;
  }

  describe(): Tunnel {
    return this.#rows.row(this.#tunnel, this.#carrier, this.state);
  }
}

class DialledTunnel implements LiveTunnel {
  readonly state = "dialing";
  readonly bytesToTarget = 0;
  readonly bytesFromTarget = 0;
  readonly queuedBytes = 0;
  readonly #rows: TunnelRows;
  readonly #asked: ShownFacts;
  readonly #carrier: Carrier | undefined;

  constructor(rows: TunnelRows, asked: ShownFacts, carrier: Carrier | undefined) {
    this.#rows = rows;
    this.#asked = asked;
    this.#carrier = carrier;
  }

  get id(): number {
    return this.#asked.id;
  }

  get target(): string {
    return this.#asked.address;
  }

  get agentKey(): number | undefined {
    return agentKeyOf(this.#carrier);
  }

  describe(): Tunnel {
    return this.#rows.asked(this.#asked, this.#carrier, "dialing");
  }
}

function agentKeyOf(carrier: Carrier | undefined): number | undefined {
  return carrier !== undefined && "agent" in carrier ? carrier.agent.key : undefined;
}

function withEnd(row: Tunnel, end: TunnelEnd, askedAt: number): Tunnel {
  return {
    ...row,
    queuedBytes: 0,
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
