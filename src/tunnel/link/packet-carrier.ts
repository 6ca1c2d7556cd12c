import type { ConnectId, ControlPacket } from "../wire/packet.js";
import type { PacketMeter } from "./packet-meter.js";
import type { PacketStream } from "./packet-stream.js";

/** One end of a link as its tunnels see it: what carries their packets. Server and agent each add what they are told. */
export abstract class PacketCarrier {
  #stream: PacketStream | undefined;

  /** Called once, before anything is sent. */
  attach(stream: PacketStream): void {
    this.#stream = stream;
  }

  protected get stream(): PacketStream {
    return this.#stream!;
  }

  get congested(): boolean {
    return this.#stream!.congested;
  }

  get queuedBytes(): number {
    return this.#stream?.queuedBytes ?? 0;
  }

  get roundTripMs(): number | undefined {
    return this.#stream?.roundTripMs;
  }

  get sent(): PacketMeter {
    return this.#stream!.sent;
  }

  get received(): PacketMeter {
    return this.#stream!.received;
  }

  /** From here on the packets of this connection are nobody's traffic, and those of the one before are again. */
  leaveUncounted(connectId: ConnectId): void {
    this.sent.uncounted = connectId;
    this.received.uncounted = connectId;
  }

  data(connectId: ConnectId, payload: Uint8Array): boolean {
    return this.#stream!.data(connectId, payload);
  }

  control(packet: ControlPacket): void {
    this.#stream!.control(packet);
  }

  pause(): void {
    this.#stream!.pause();
  }

  resume(): void {
    this.#stream!.resume();
  }
}
