/** A caller by gRPC: the packets of konnectivity-client on the link's own classes. */
import type { Socket } from "node:net";
import { openSession } from "../../src/tunnel/link/open.js";
import { SegmentCounters } from "../../src/tunnel/link/packet-meter.js";
import { PacketStream, type StreamEnd, type StreamOwner } from "../../src/tunnel/link/packet-stream.js";
import type { ConnectId, ControlPacket } from "../../src/tunnel/wire/packet.js";
import type { SimSocket } from "../sockets/socket.js";
import { runtimeOf } from "../systems/runtime.js";
import type { CallerPlan } from "../types.js";
import type { Host } from "../world/host.js";
import type { Asked } from "./caller.js";
import type { Line } from "./line.js";
import { Talker } from "./talker.js";

class GrpcLine implements StreamOwner, Line {
  readonly asked: Asked;
  readonly #plan: CallerPlan;
  readonly #host: Host;
  readonly #socket: SimSocket;
  #stream: PacketStream | undefined;
  readonly #dialId: bigint;
  #connectId: ConnectId = 0;
  #isClosing = false;
  #error: string | undefined;

  constructor(host: Host, plan: CallerPlan, socket: SimSocket, address: string) {
    this.#host = host;
    this.#plan = plan;
    this.#socket = socket;
    this.#dialId = BigInt(host.random.uint32());
    const talker = new Talker(host, { ...plan, other: `${plan.name}'s endpoint` });
    this.asked = { talker, answers: 0, giveUp: () => this.#giveUp() };
    socket.on("error", (error: NodeJS.ErrnoException) => {
      this.#error = error.code;
    });
    socket.on("connect", () => {
      const runtime = runtimeOf(host);
      const { call } = openSession(socket as unknown as Socket, "server", "http", "caller", runtime);
      const counters = { received: new SegmentCounters(), sent: new SegmentCounters() };
      this.#stream = new PacketStream(call("/ProxyService/Proxy", {}), this, counters);
      this.#stream.control({ type: "DIAL_REQ", protocol: "tcp", address, random: this.#dialId });
    });
    socket.on("close", () => {
      this.asked.lost ??= this.asked.answers === 0 ? (this.#error ?? "no answer") : undefined;
      talker.onClosed(this.#error);
    });
  }

  #giveUp(): void {
    if (this.asked.answers > 0 || this.asked.gaveUp) return;
    this.asked.gaveUp = true;
    this.#stream?.control({ type: "DIAL_CLS", random: this.#dialId });
    this.#hangUpSoon();
  }

  /** Once what was written is gone, or after a moment. */
  #hangUpSoon(): void {
    this.#host.after(50, "hang up", () => this.#socket.destroySoon());
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
      else if (!this.#isClosing) asked.talker.onEnd();
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
    if (status !== 0) this.#error ??= reason;
    this.#hangUpSoon();
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
    // konnectivity-client waits no longer for the answer to it.
    this.#host.after(1_000, "hang up", () => this.#socket.destroySoon());
  }

  close(): void {
    this.end();
  }

  reset(): void {
    this.#socket.resetAndDestroy();
  }
}

export function callByGrpc(host: Host, plan: CallerPlan, socket: SimSocket, address: string): Asked {
  return new GrpcLine(host, plan, socket, address).asked;
}
