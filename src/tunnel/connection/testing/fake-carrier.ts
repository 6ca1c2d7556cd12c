import type { ConnectId, ControlPacket } from "../../wire/packet.js";
import type { Carrier } from "../tunnel.js";

/** A link that keeps what it is given. */
export class FakeCarrier implements Carrier {
  congested = false;
  readonly extended: boolean;
  readonly packets: ControlPacket[] = [];
  dataBytes = 0;
  /** Whether the link is being read. */
  reading = true;
  pauses = 0;

  constructor(extended: boolean) {
    this.extended = extended;
  }

  data(_connectId: ConnectId, payload: Uint8Array): boolean {
    this.dataBytes += payload.length;
    return !this.congested;
  }

  control(packet: ControlPacket): void {
    this.packets.push(packet);
  }

  pause(): void {
    this.reading = false;
    this.pauses++;
  }

  resume(): void {
    this.reading = true;
  }

  types(): string[] {
    return this.packets.map(({ type }) => type);
  }
}
