import type { ClientDuplexStream, Metadata, StatusObject } from "@grpc/grpc-js";
import { within } from "../../../support/processes/deadline.js";
import { decode, encode, type Packet, type PacketName } from "./packets.js";

/** Passed to grpc-js as serializer and deserializer, so that a test decides about every byte of a message. */
export const asIs = (bytes: Buffer): Buffer => bytes;

const WITHIN_MS = 12_000;

type Of<Name extends PacketName> = Extract<Packet, { type: Name }>;

/** One bidirectional stream of Packets, sent and received by a gRPC implementation that is neither ours nor Go's. */
export class PacketStream {
  readonly headers: Promise<Metadata>;
  /** How the RPC ended; never rejects. */
  readonly ended: Promise<StatusObject>;
  readonly #call: ClientDuplexStream<Buffer, Buffer>;
  readonly #untaken: Packet[] = [];
  #wake: () => void = () => {};

  constructor(call: ClientDuplexStream<Buffer, Buffer>) {
    this.#call = call;
    this.headers = new Promise((resolve) => call.once("metadata", resolve));
    this.ended = new Promise((resolve) => call.once("status", resolve));
    // grpc-js reports a failed RPC both as status and as error; the status is what tests look at.
    call.on("error", () => {});
    call.on("data", (message: Buffer) => {
      this.#untaken.push(decode(message));
      this.#wake();
    });
    void this.ended.then(() => this.#wake());
  }

  send(packet: Packet): void {
    this.#call.write(encode(packet));
  }

  /** A message as it is, well-formed or not. */
  sendRaw(message: Buffer): void {
    this.#call.write(message);
  }

  /** The next packet, which must be of this type. */
  async next<Name extends PacketName>(type: Name, withinMs = WITHIN_MS): Promise<Of<Name>> {
    const packet = await this.nextOfAny(withinMs, `a ${type}`);
    if (packet.type !== type) throw new Error(`expected ${type}, got ${describe(packet)}`);
    return packet as Of<Name>;
  }

  async nextOfAny(withinMs = WITHIN_MS, what = "a packet"): Promise<Packet> {
    return within(withinMs, what, this.#take(what));
  }

  /** Packets that came and were not asked for. */
  get untaken(): readonly Packet[] {
    return this.#untaken;
  }

  async #take(what: string): Promise<Packet> {
    let status: StatusObject | undefined;
    void this.ended.then((ending) => {
      status = ending;
    });
    for (;;) {
      const packet = this.#untaken.shift();
      if (packet) return packet;
      if (status) throw new Error(`the stream ended (${status.code} ${status.details}) before ${what}`);
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  /** Ends the writing side, in order, after everything sent before. */
  end(): void {
    this.#call.end();
  }

  /** RST_STREAM. */
  cancel(): void {
    this.#call.cancel();
  }
}

function describe(packet: Packet): string {
  return JSON.stringify(packet, (_, value) => (typeof value === "bigint" ? `${value}` : value));
}
