/** A dial through a gRPC door: one Proxy stream on a connection of its own, as kube-apiserver does it. */
import { randomBytes } from "node:crypto";
import type { ClientHttp2Session } from "node:http2";
import { connect } from "node:net";
import { Duplex } from "node:stream";
import { SegmentCounters } from "../../src/link/counters.js";
import { openSession } from "../../src/link/open.js";
import { PacketStream, type StreamEnd, type StreamOwner } from "../../src/link/packet-stream.js";
import type { ConnectId, ControlPacket } from "../../src/wire/packet.js";
import { within } from "../../test/support/processes/deadline.js";

export async function dialGrpc(path: string, target: string): Promise<Duplex> {
  const { session, call } = openSession(connect(path), "localhost", "http");
  const tunnel = new GrpcTunnel(session);
  tunnel.start(new PacketStream(call("/ProxyService/Proxy", {}), tunnel, new SegmentCounters(), new SegmentCounters()));
  try {
    await within(20_000, "the gRPC door's answer", tunnel.dial(target));
  } catch (reason) {
    tunnel.destroy();
    throw reason;
  }
  return tunnel;
}

class GrpcTunnel extends Duplex implements StreamOwner {
  readonly #session: ClientHttp2Session;
  readonly #random = randomBytes(8).readBigUInt64BE() >> 1n;
  #stream!: PacketStream;
  #connectId: ConnectId = 0;
  #answer: { resolve(): void; reject(reason: Error): void } | undefined;
  #written: (() => void) | undefined;

  constructor(session: ClientHttp2Session) {
    super();
    this.#session = session;
  }

  start(stream: PacketStream): void {
    this.#stream = stream;
  }

  dial(address: string): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#answer = { resolve, reject };
      this.#stream.control({ type: "DIAL_REQ", protocol: "tcp", address, random: this.#random });
    });
  }

  onControl(packet: ControlPacket): void {
    if (packet.type === "DIAL_RSP") {
      this.#connectId = packet.connectId;
      if (packet.error === "") this.#answer?.resolve();
      else this.#answer?.reject(new Error(packet.error));
    } else if (packet.type === "DIAL_CLS") this.#answer?.reject(new Error("the dial was given up"));
    else if (packet.type === "CLOSE_RSP") this.push(null);
  }

  onData(_: ConnectId, chunk: Buffer): void {
    if (!this.push(chunk)) this.#stream.pause();
  }

  onSettle(): void {}
  onEmpty(): void {}

  onDrain(): void {
    this.#written?.();
    this.#written = undefined;
  }

  onRemoteEnd(): void {
    this.push(null);
  }

  onClosed(end: StreamEnd): void {
    const reason = new Error(`the proxy-server ended the stream: ${end.reason}`);
    this.#answer?.reject(reason);
    this.destroy(this.readableEnded ? undefined : reason);
  }

  override _read(): void {
    this.#stream.resume();
  }

  override _write(chunk: Buffer, _: BufferEncoding, done: () => void): void {
    if (this.#stream.data(this.#connectId, chunk)) done();
    else this.#written = done;
  }

  override _final(done: () => void): void {
    this.#stream.control({ type: "CLOSE_REQ", connectId: this.#connectId });
    done();
  }

  override _destroy(reason: Error | null, done: (reason: Error | null) => void): void {
    this.#stream.cancel("the caller is done");
    this.#session.destroy();
    done(reason);
  }
}
