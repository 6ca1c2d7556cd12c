/** One Proxy stream at a gRPC frontend: one dial, one connection, then nothing more. */
import { randomBytes } from "node:crypto";
import { decodeGrpcMessage, GrpcStatus, goCodeName } from "../link/grpc-status.js";
import { type Headers, NOT_HTTP2, type OpenSession } from "../link/open.js";
import { SegmentCounters } from "../link/packet-meter.js";
import { PacketStream, type StreamEnd, type StreamOwner } from "../link/packet-stream.js";
import type { ConnectId, ControlPacket, DialId } from "../wire/packet.js";
import { agentGaveUp, badAnswer, DialRefusedError, frontendLost, step } from "./errors.js";
import { describeFrontend, type Frontend, parseTarget } from "./frontend.js";
import { type FarSide, TunnelDuplex } from "./tunnel-socket.js";

export interface ProxyCallOptions {
  /** The connection to the frontend, on which the call is made. */
  readonly open: OpenSession;
  readonly frontend: Frontend;
  readonly address: string;
  /** The stream is gone: nothing of this call is left. */
  readonly onOver: () => void;
  /** Whether the connection below keeps the process alive. */
  readonly setRef: (on: boolean) => void;
}

/** dialing -> open -> closing (CLOSE_REQ or DIAL_CLS said) -> over (all is said, the stream is being ended). */
type State = "dialing" | "open" | "closing" | "over";

/** Upstream's client waits as long for the answer to its CLOSE_REQ. */
const CLOSE_WAIT_MS = 10_000;

export class ProxyCall implements StreamOwner, FarSide {
  readonly #options: ProxyCallOptions;
  /** Where the frontend is, for people. */
  readonly #where: string;
  readonly #stream: PacketStream;
  readonly #dialId: DialId = randomBytes(8).readBigUInt64BE() >> 1n;
  readonly #counters = new SegmentCounters();
  #state: State = "dialing";
  #connectId: ConnectId = 0;
  #socket: TunnelDuplex | undefined;
  #answered: { resolve(socket: TunnelDuplex): void; reject(reason: unknown): void } | undefined;
  #lateClose: NodeJS.Timeout | undefined;
  /** The server's status when it refused the call at once. */
  #status = "";

  constructor(options: ProxyCallOptions) {
    this.#options = options;
    this.#where = describeFrontend(options.frontend);
    const stream = options.open.call("/ProxyService/Proxy", {});
    this.#stream = new PacketStream(stream, this, { received: this.#counters, sent: this.#counters });
    stream.once("headers", this.#onHeaders);
  }

  async dial(stop: AbortSignal): Promise<TunnelDuplex> {
    try {
      const socket = await step<TunnelDuplex>(stop, (resolve, reject) => {
        this.#answered = { resolve, reject };
        if (this.#stream.closed) reject(this.#lost("it hung up"));
        const { address } = this.#options;
        this.#stream.control({ type: "DIAL_REQ", protocol: "tcp", address, random: this.#dialId });
        return () => {
          this.#answered = undefined;
        };
      });
      // Lost in the same turn, before anybody could listen to the socket.
      if (socket.errored !== null) throw socket.errored;
      return socket;
    } catch (reason) {
      this.#giveUp();
      throw reason;
    }
  }

  /** The server need not answer any more; ending the stream also closes a connection that was made meanwhile. */
  #giveUp(): void {
    this.#socket?.destroy();
    if (this.#state !== "dialing") return;
    this.#stream.control({ type: "DIAL_CLS", random: this.#dialId });
    this.#endStream();
  }

  // ---- FarSide: what the socket wants ------------------------------------------------------------------------------

  send(bytes: Uint8Array): boolean {
    return this.#state === "open" ? this.#stream.data(this.#connectId, bytes) : true;
  }

  pause(): void {
    if (this.#state !== "over") this.#stream.pause();
  }

  resume(): void {
    this.#stream.resume();
  }

  hangUp(): void {
    if (this.#state !== "open") return;
    this.#stream.control({ type: "CLOSE_REQ", connectId: this.#connectId });
    this.#leave("closing");
  }

  ref(): void {
    this.#options.setRef(true);
  }

  unref(): void {
    this.#options.setRef(false);
  }

  // ---- StreamOwner: what comes from the server ---------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    if (connectId === this.#connectId) this.#socket?.received(chunk);
  }

  onControl(packet: ControlPacket): void {
    if (packet.type === "DIAL_RSP") this.#onDialAnswer(packet);
    else if (packet.type === "DIAL_CLS") this.#refuse(agentGaveUp(this.#options.address));
    else if (packet.type === "CLOSE_RSP" && packet.connectId === this.#connectId) this.#onClosedByFar(packet.error);
  }

  #onDialAnswer({ random, error, connectId }: { random: DialId; error: string; connectId: ConnectId }): void {
    if (this.#state !== "dialing") return;
    const { address } = this.#options;
    if (random !== this.#dialId) this.#refuse(badAnswer(this.#where, "it belongs to another dial"));
    else if (error !== "") this.#refuse(new DialRefusedError(address, error));
    else if (connectId === 0) this.#refuse(badAnswer(this.#where, "the connection has no number"));
    else {
      this.#state = "open";
      this.#connectId = connectId;
      // Here and not later: the endpoint's first bytes may come in the same turn.
      this.#socket = new TunnelDuplex(this, parseTarget(address));
      this.#socket.on("error", () => {});
      this.#answered?.resolve(this.#socket);
    }
  }

  #refuse(reason: Error): void {
    if (this.#state !== "dialing") return;
    this.#endStream();
    this.#answered?.reject(reason);
  }

  #onClosedByFar(error: string): void {
    const asked = this.#state === "closing";
    if (!asked && this.#state !== "open") return;
    this.#endStream();
    // A server that has forgotten the connection says so in answer to our CLOSE_REQ, too; then it is closed all the same.
    if (error === "" || asked) this.#socket?.farEnded();
    else this.#socket?.destroy(badAnswer(this.#where, `it closed the tunnel with: ${error}`));
  }

  onSettle(): void {}

  onDrain(): void {
    this.#socket?.drained();
  }

  onEmpty(): void {}

  /** Servers never end a call by themselves while a connection is open, so this is a loss, however orderly. */
  onRemoteEnd(): void {
    if (this.#state !== "over") this.#stream.cancel(this.#status === "" ? "it ended the stream" : this.#status);
  }

  onClosed(end: StreamEnd): void {
    clearTimeout(this.#lateClose);
    const state = this.#state;
    this.#state = "over";
    if (state === "dialing") this.#answered?.reject(this.#lost(end.reason));
    else if (state !== "over") this.#socket?.destroy(this.#lost(end.reason));
    this.#options.onOver();
  }

  readonly #onHeaders = (headers: Headers): void => {
    const http = Number(headers[":status"] ?? 200);
    if (http !== 200) this.#status = `it answered with HTTP status ${http}`;
    const status = Number(headers["grpc-status"] ?? GrpcStatus.OK);
    if (status === GrpcStatus.OK) return;
    this.#status = `${goCodeName(status)}: ${decodeGrpcMessage(String(headers["grpc-message"] ?? ""))}`;
  };

  #lost(why: string): Error {
    return why === NOT_HTTP2
      ? badAnswer(this.#where, "it is not HTTP/2, so this may be an http-connect frontend")
      : frontendLost(this.#where, why);
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  #leave(state: "closing" | "over"): void {
    this.#state = state;
    this.#lateClose ??= setTimeout(() => {
      this.#stream.cancel(`it did not confirm the end of the tunnel within ${CLOSE_WAIT_MS} ms`);
    }, CLOSE_WAIT_MS).unref();
  }

  /** Ends the stream once everything is sent; whatever else comes is read and thrown away, so that its end is noticed. */
  #endStream(): void {
    this.#leave("over");
    this.#stream.resume();
    this.#stream.end();
  }
}
