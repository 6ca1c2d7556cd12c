/** A switchboard with agents and callers that a test plays itself. */

import { ManualClock } from "../../../base/testing/manual-clock.js";
import { Budget } from "../../connection/budget.js";
import { FakePort } from "../../connection/testing/fake-port.js";
import type { Features } from "../../link/features.js";
import { PacketMeter, SegmentCounters } from "../../link/packet-meter.js";
import type { PacketStream } from "../../link/packet-stream.js";
import { newDialId } from "../../wire/dial-id.js";
import { parseIdentifiers } from "../../wire/identifiers.js";
import type { ConnectId, ControlPacket, DialId } from "../../wire/packet.js";
import type { AgentLink } from "../agents/agent-link.js";
import { AgentRegistry } from "../agents/registry.js";
import type { StrategyName } from "../config.js";
import type { Caller, DialRefusal } from "../dial.js";
import { Switchboard } from "../switchboard.js";

/** What is needed of a PacketStream, kept instead of sent. */
export class FakeStream {
  readonly packets: ControlPacket[] = [];
  readonly data_: { connectId: ConnectId; bytes: Buffer }[] = [];
  queuedBytes = 0;
  congested = false;
  extended = false;
  closed = false;
  ended = false;
  paused = false;
  cancelled = "";
  disconnected = false;
  readonly sent = new PacketMeter(new SegmentCounters(), "sent");
  readonly received = new PacketMeter(new SegmentCounters(), "received");

  data(connectId: ConnectId, payload: Uint8Array): boolean {
    this.data_.push({ connectId, bytes: Buffer.from(payload) });
    return !this.congested;
  }

  control(packet: ControlPacket): void {
    this.packets.push(packet);
  }

  pause(): void {
    this.paused = true;
  }

  resume(): void {
    this.paused = false;
  }

  end(): void {
    this.ended = true;
  }

  cancel(reason: string): void {
    this.cancelled = reason;
    this.closed = true;
  }

  fail(_status: number, reason: string): void {
    this.cancel(reason);
    this.onFailed();
  }

  leaveUncounted(connectId: ConnectId): void {
    this.sent.uncounted = connectId;
    this.received.uncounted = connectId;
  }

  /** What a real one tells its owner. */
  onFailed: () => void = () => {};

  destroySession(): void {
    this.disconnected = true;
  }

  /** Packets since the last call. */
  news(): ControlPacket[] {
    return this.packets.splice(0);
  }

  get asStream(): PacketStream {
    return this as unknown as PacketStream;
  }
}

export interface FakeAgent {
  readonly link: AgentLink;
  readonly stream: FakeStream;
  /** The DIAL_REQ that came last. */
  asked(): { address: string; random: DialId } | undefined;
  /** Answers its oldest unanswered dial. */
  answer(connectId: ConnectId): void;
  fail(error: string): void;
  lose(): void;
}

/** Where an agent's stream comes from; alone on a connection that answers pings at once unless told otherwise. */
export interface FakePlace {
  readonly connection?: AgentLink["connection"];
  readonly principal?: string;
}

export interface FakeBoard {
  readonly board: Switchboard;
  readonly clock: ManualClock;
  agent(agentId: string, identifiers?: string, extended?: boolean, echo?: boolean, place?: FakePlace): FakeAgent;
}

export interface BoardPlan {
  readonly strategies?: readonly StrategyName[];
  readonly dialTimeoutMs?: number;
  readonly waitForAgentMs?: number;
  /** Where random picks fall, as a fraction; a list is used in turn. */
  readonly random?: () => number;
  readonly isReserved?: (host: string) => boolean;
}

export function makeBoard({ strategies = ["default"], dialTimeoutMs = 30_000, ...plan }: BoardPlan = {}): FakeBoard {
  const clock = new ManualClock();
  if (plan.random !== undefined) clock.random = plan.random;
  const registry = new AgentRegistry(strategies, clock, plan.isReserved);
  const { waitForAgentMs } = plan;
  const board = new Switchboard({
    source: {},
    registry,
    runtime: clock,
    budget: new Budget(),
    dialTimeoutMs,
    waitForAgentMs,
  });
  return {
    board,
    clock,
    agent: (agentId, identifiers = "", extended = false, echo = false, place = {}) =>
      join(board, agentId, identifiers, { extended, echo }, place),
  };
}

function join(
  board: Switchboard,
  agentId: string,
  identifierText: string,
  features: Features,
  { connection = { ping: (onAnswer) => onAnswer() }, principal = "" }: FakePlace,
): FakeAgent {
  const identifiers = parseIdentifiers(identifierText);
  const groupKey = `${principal} ${agentId}`;
  const claimant = { subject: principal, issuer: "", serviceAccount: "" };
  const stream = new FakeStream();
  stream.extended = features.extended;
  const link = board.addAgent(
    { agentId, identifiers, identifierText, remote: "test", principal, ...features, program: "", claimant, groupKey },
    connection,
    () => stream.asStream,
  );
  stream.onFailed = () => link.onClosed({ status: 14, reason: stream.cancelled });
  const answered = new Set<DialId>();
  const open = () => {
    const dials = stream.packets.filter((packet) => packet.type === "DIAL_REQ");
    const dial = dials.find(({ random }) => !answered.has(random));
    if (dial === undefined) throw new Error(`agent ${agentId} has no dial to answer`);
    answered.add(dial.random);
    return dial.random;
  };
  return {
    link,
    stream,
    asked: () => stream.packets.findLast((packet) => packet.type === "DIAL_REQ"),
    answer: (connectId) => link.onControl({ type: "DIAL_RSP", error: "", connectId, random: open() }),
    fail: (error) => link.onControl({ type: "DIAL_RSP", error, connectId: 0, random: open() }),
    lose: () => link.onClosed({ status: 14, reason: "lost" }),
  };
}

/** A caller that remembers what it was told. */
export class FakeCaller implements Caller {
  readonly frontend = "http-connect";
  readonly protocol = "tcp";
  readonly address: string;
  readonly dialId: DialId;
  readonly port = new FakePort();
  accepted: ConnectId | undefined;
  readonly refusals: DialRefusal[] = [];
  gone = false;

  constructor(address = "10.0.0.1:443", dialId: DialId = newDialId()) {
    this.address = address;
    this.dialId = dialId;
  }

  accept(connectId: ConnectId): FakePort | undefined {
    if (this.gone) return undefined;
    this.accepted = connectId;
    return this.port;
  }

  refuse(refusal: DialRefusal): void {
    this.refusals.push(refusal);
  }
}
