/** A caller by gRPC: the packets of konnectivity-client on the link's own classes. */
import type { Stream } from "../../src/tunnel/link/h2/stream.js";
import { SegmentCounters } from "../../src/tunnel/link/packet-meter.js";
import { PacketStream, type StreamEnd, type StreamOwner } from "../../src/tunnel/link/packet-stream.js";
import type { ConnectId, ControlPacket } from "../../src/tunnel/wire/packet.js";
import type { CallerPlan } from "../types.js";
import type { Host } from "../world/host.js";
import type { Asked } from "./caller.js";
import type { ChannelUser, GrpcChannel } from "./grpc-channel.js";
import type { Line } from "./line.js";
import { Talker } from "./talker.js";

/** konnectivity-client waits no longer for the answer to its CLOSE_REQ. */
const CLOSE_MS = 1_000;

class GrpcLine implements StreamOwner, Line, ChannelUser {
  readonly asked: Asked;
  readonly #plan: CallerPlan;
  readonly #host: Host;
  readonly #channel: GrpcChannel;
  readonly #address: string;
  #stream: PacketStream | undefined;
  readonly #dialId: bigint;
  #connectId: ConnectId = 0;
  #isClosing = false;
  /** The tunnel has ended in good order: what becomes of the connection is no news. */
  #hasClosed = false;
  /** It has let the stream go, so that the stream's end is no news. */
  #hasHungUp = false;
  #error: string | undefined;

  constructor(host: Host, plan: CallerPlan, channel: GrpcChannel, address: string) {
    this.#host = host;
    this.#plan = plan;
    this.#channel = channel;
    this.#address = address;
    this.#dialId = BigInt(host.random.uint32());
    const talker = new Talker(host, { ...plan, other: `${plan.name}'s endpoint` });
    this.asked = { talker, answers: 0, giveUp: () => this.#giveUp() };
  }

  onStream(stream: Stream): void {
    const counters = { received: new SegmentCounters(), sent: new SegmentCounters() };
    this.#stream = new PacketStream(stream, this, counters);
    this.#stream.control({ type: "DIAL_REQ", protocol: "tcp", address: this.#address, random: this.#dialId });
  }

  onLost(error: string | undefined): void {
    this.#over(this.#error ?? (this.#hasClosed ? undefined : error));
  }

  #over(error: string | undefined): void {
    const { asked } = this;
    if (asked.talker.isClosed) return;
    asked.lost ??= asked.answers === 0 ? (error ?? "no answer") : undefined;
    asked.talker.onClosed(error);
    if (this.#channel.isShared) this.#channel.remove(this);
  }

  #giveUp(): void {
    if (this.asked.answers > 0 || this.asked.gaveUp) return;
    this.asked.gaveUp = true;
    this.#stream?.control({ type: "DIAL_CLS", random: this.#dialId });
    this.#hangUpSoon();
  }

  /** Once what was written is gone, or after a moment. */
  #hangUpSoon(): void {
    this.#host.after(50, "hang up", () => this.#hangUp());
  }

  #hangUp(): void {
    if (!this.#channel.isShared) {
      this.#channel.socket.destroySoon();
      return;
    }
    if (this.#hasHungUp) return;
    this.#hasHungUp = true;
    if (this.#stream === undefined) this.#over(this.#error);
    else this.#stream.end();
    this.#host.after(CLOSE_MS, "hang up", () => this.#stream?.cancel("done"));
  }

  // ---- packets -----------------------------------------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    if (this.asked.gaveUp) return;
    if (connectId !== this.#connectId || this.asked.answers === 0)
      this.#host.world.fail("200 before any byte", `${this.#plan.name} got bytes of connection ${connectId}`);
    this.asked.talker.onData(chunk);
  }

  onControl(packet: ControlPacket): void {
    const { asked } = this;
    const { world } = this.#host;
    if (packet.type === "DIAL_RSP") {
      if (asked.gaveUp) return;
      asked.answers++;
      asked.answeredAtMs = world.now;
      world.note("DIAL_RSP", this.#plan.name, Number(packet.connectId));
      if (asked.answers > 1) world.fail("one answer for each dial", `${this.#plan.name} got a second DIAL_RSP`);
      if (packet.error === "") {
        this.#connectId = packet.connectId;
        asked.talker.start(this);
      } else {
        asked.refusal = packet.error;
        this.#hangUpSoon();
      }
    } else if (packet.type === "DIAL_CLS") {
      asked.answers++;
      asked.refusal = "the dial was closed";
      this.#hangUpSoon();
    } else if (packet.type === "CLOSE_RSP") {
      if (packet.error !== "") this.#error ??= packet.error;
      else {
        this.#hasClosed ||= this.#error === undefined;
        if (!this.#isClosing) asked.talker.onEnd();
      }
      this.#hangUpSoon();
    }
  }

  onSettle(): void {}

  onDrain(): void {
    this.asked.talker.onDrain();
  }

  onEmpty(): void {}

  onRemoteEnd(): void {
    this.#hangUpSoon();
  }

  onClosed({ status, reason }: StreamEnd): void {
    if (status !== 0 && !this.#hasHungUp) this.#error ??= reason;
    if (this.#channel.isShared) this.#over(this.#error);
    else this.#hangUpSoon();
  }

  // ---- Line --------------------------------------------------------------------------------------------------------

  write(bytes: Buffer): boolean {
    return this.#stream!.data(this.#connectId, bytes);
  }

  pause(): void {
    this.#stream?.pause();
  }

  resume(): void {
    this.#stream?.resume();
  }

  end(): void {
    if (this.#isClosing) return;
    this.#isClosing = true;
    this.#stream?.control({ type: "CLOSE_REQ", connectId: this.#connectId });
    this.#host.after(CLOSE_MS, "hang up", () => this.#hangUp());
  }

  close(): void {
    this.end();
  }

  reset(): void {
    if (this.#channel.isShared) this.#stream?.cancel("reset");
    else this.#channel.socket.resetAndDestroy();
  }
}

export function callByGrpc(host: Host, plan: CallerPlan, channel: GrpcChannel, address: string): Asked {
  const line = new GrpcLine(host, plan, channel, address);
  channel.add(line);
  return line.asked;
}
