/** One Proxy stream at a gRPC frontend as a socket: one dial, one connection, then nothing more. */
import { Duplex } from "node:stream";
import type { Runtime } from "../../base/runtime.js";
import { plainText } from "../../base/text.js";
import { decodeGrpcMessage, GrpcStatus, goCodeName } from "../link/grpc-status.js";
import { type Headers, NOT_HTTP2, type OpenSession } from "../link/open.js";
import { SegmentCounters } from "../link/packet-meter.js";
import { PacketStream, type StreamEnd, type StreamOwner } from "../link/packet-stream.js";
import { step } from "../outgoing/connected.js";
import { explainOtherGrpc, explainWords, isAboutCertificates } from "../outgoing/explain.js";
import { newDialId } from "../wire/dial-id.js";
import type { ConnectId, ControlPacket, DialId } from "../wire/packet.js";
import {
  agentGaveUp,
  badAnswer,
  DialRefusedError,
  type FrontendTrust,
  frontendLost,
  refusalBehind,
  tunnelCut,
} from "./errors.js";
import { describeFrontend, type Frontend, parseTarget } from "./frontend.js";

/**
 * The result of a dial: enough of a `net.Socket` for node:http, node:tls and most code that was written for sockets. A
 * real `net.Socket` (or `tls.TLSSocket`) at http-connect frontends, a GrpcTunnel at gRPC frontends.
 */
export interface TunnelSocket extends Duplex {
  readonly remoteAddress?: string | undefined;
  readonly remotePort?: number | undefined;
  readonly bytesRead: number;
  readonly bytesWritten: number;
  readonly connecting: boolean;
  readonly timeout?: number | undefined;
  setNoDelay(on?: boolean): this;
  setKeepAlive(on?: boolean, initialDelayMs?: number): this;
  /** Emits `timeout` after `ms` without traffic; 0 switches it off. */
  setTimeout(ms: number, onTimeout?: () => void): this;
  /** Ends, and destroys once everything written is sent. */
  destroySoon(): void;
  ref(): this;
  unref(): this;
}

/** A connection to a gRPC frontend. */
export interface FrontendSession extends OpenSession {
  readonly tls?: FrontendTrust;
}

interface GrpcTunnelOptions {
  /** The connection to the frontend, on which the call is made. */
  readonly open: FrontendSession;
  readonly frontend: Frontend;
  readonly address: string;
  /** Default: random. */
  readonly dialId?: DialId | undefined;
  /** The stream is gone: nothing of this call is left. */
  readonly onOver: () => void;
  /** Whether the connection below keeps the process alive. */
  readonly setRef: (on: boolean) => void;
}

/** dialing -> open -> closing (CLOSE_REQ or DIAL_CLS said) -> over (all is said, the stream is being ended). */
type State = "dialing" | "open" | "closing" | "over";

/** Upstream's client waits as long for the answer to its CLOSE_REQ. */
const CLOSE_WAIT_MS = 10_000;
/** Bytes that may wait for the program in either direction before the far side is held back. */
const HIGH_WATER_BYTES = 128 * 1024;

export class GrpcTunnel extends Duplex implements TunnelSocket, StreamOwner {
  readonly remoteAddress: string;
  readonly remotePort: number;
  readonly connecting = false;
  /** Packets keep their order, so that a reset need not wait for what was written before. */
  readonly unsentBytes = 0;
  bytesRead = 0;
  bytesWritten = 0;
  timeout = 0;

  readonly #options: GrpcTunnelOptions;
  readonly #runtime: Runtime;
  /** Where the frontend is, for people. */
  readonly #where: string;
  readonly #stream: PacketStream;
  readonly #dialId: DialId;
  readonly #counters = new SegmentCounters();
  #state: State = "dialing";
  #connectId: ConnectId = 0;
  #answered: { resolve(): void; reject(reason: unknown): void } | undefined;
  #cancelLateClose: (() => void) | undefined;
  #cancelLateCut: (() => void) | undefined;
  /** The server's status when it refused the call at once. */
  #status = "";
  /** It speaks gRPC, but has no such call. */
  #isOtherGrpc = false;
  /** Why the stream is not complete; told when what came before has been read. */
  #cutBy: Error | undefined;
  /** The end of a write that waits for the stream. */
  #waiting: (() => void) | undefined;
  #idle: NodeJS.Timeout | undefined;

  constructor(options: GrpcTunnelOptions) {
    // The protocol closes both directions at once, so our side ends with the far one.
    super({ highWaterMark: HIGH_WATER_BYTES, allowHalfOpen: false });
    const { host, port } = parseTarget(options.address);
    this.remoteAddress = host;
    this.remotePort = port;
    this.#options = options;
    this.#runtime = options.open.session.runtime;
    this.#dialId = options.dialId ?? newDialId(this.#runtime);
    this.#where = describeFrontend(options.frontend);
    const stream = options.open.call("/ProxyService/Proxy", {});
    this.#stream = new PacketStream(stream, this, { received: this.#counters, sent: this.#counters });
    stream.once("headers", this.#onHeaders);
    // An error that nobody expects must not end the process.
    this.on("error", () => {});
  }

  async dial(stop: AbortSignal): Promise<this> {
    try {
      await step<void>(stop, (resolve, reject) => {
        this.#answered = { resolve, reject };
        if (this.#stream.closed) reject(this.#lost("it hung up"));
        const { address } = this.#options;
        this.#stream.control({ type: "DIAL_REQ", protocol: "tcp", address, random: this.#dialId });
        return () => {
          this.#answered = undefined;
        };
      });
      // Lost in the same turn, before anybody could listen to the socket.
      if (this.errored !== null) throw this.errored;
      return this;
    } catch (reason) {
      if (this.#state === "dialing") {
        // The server need not answer any more; ending the stream also closes a connection that was made meanwhile.
        this.#stream.control({ type: "DIAL_CLS", random: this.#dialId });
        this.#endStream();
      }
      this.destroy();
      throw reason;
    }
  }

  // ---- StreamOwner: what comes from the server ---------------------------------------------------------------------

  onData(connectId: ConnectId, chunk: Buffer): void {
    // Before the dial is answered the connection has no number, and nothing belongs to it.
    if (this.#state === "dialing" || this.#state === "over" || connectId !== this.#connectId || this.destroyed) return;
    this.bytesRead += chunk.length;
    this.#idle?.refresh();
    if (!this.push(chunk)) this.#stream.pause();
  }

  onControl(packet: ControlPacket): void {
    if (packet.type === "DIAL_RSP") this.#onDialAnswer(packet);
    else if (packet.type === "DIAL_CLS") this.#refuse(agentGaveUp(this.#options.address));
    else if (packet.type === "CLOSE_RSP" && packet.connectId === this.#connectId) this.#onClosedByFar(packet.error);
  }

  #onDialAnswer({ random, error, connectId }: { random: DialId; error: string; connectId: ConnectId }): void {
    if (this.#state !== "dialing") return;
    if (random !== this.#dialId) this.#refuse(badAnswer(this.#where, "it belongs to another dial"));
    else if (error !== "") this.#refuse(new DialRefusedError(this.#options.address, error));
    else if (connectId === 0) this.#refuse(badAnswer(this.#where, "the connection has no number"));
    else {
      this.#state = "open";
      this.#connectId = connectId;
      this.#answered?.resolve();
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
    if (error !== "" && !asked) this.#cut(tunnelCut(this.#options.address, this.#where, plainText(error)));
    else if (!this.destroyed) {
      // What it sent before is still read. Bytes on their way to it are gone, as on any network.
      this.push(null);
      this.onDrain();
    }
  }

  #cut(reason: Error): void {
    if (this.destroyed) return;
    this.#cutBy = reason;
    if (this.readableLength === 0) this.destroy(reason);
    else this.#cancelLateCut = this.#runtime.after(CLOSE_WAIT_MS, () => this.destroy(reason));
  }

  onSettle(): void {}

  onDrain(): void {
    const done = this.#waiting;
    this.#waiting = undefined;
    done?.();
  }

  onEmpty(): void {}

  /** Servers never end a call by themselves while a connection is open, so this is a loss, however orderly. */
  onRemoteEnd(): void {
    if (this.#state !== "over") this.#stream.cancel(this.#status === "" ? "it ended the stream" : this.#status);
  }

  onClosed(end: StreamEnd): void {
    this.#cancelLateClose?.();
    const state = this.#state;
    this.#state = "over";
    if (state === "dialing") this.#answered?.reject(this.#isLeft ? this.#left() : this.#lost(end.reason));
    else if (state !== "over") this.#cut(this.#lost(end.reason));
    this.#options.onOver();
  }

  /** The server said that it goes, with no complaint: of a call that it does not answer it has seen nothing. */
  get #isLeft(): boolean {
    const { closing, goawayText, failure } = this.#options.open.session;
    return closing && goawayText === "" && failure === undefined && this.#status === "";
  }

  #left(): Error {
    return new DialRefusedError(this.#options.address, "No agent available (the server is shutting down)");
  }

  readonly #onHeaders = (headers: Headers): void => {
    const http = Number(headers[":status"] ?? 200);
    if (http !== 200) this.#status = `it answered with HTTP status ${http}`;
    const status = Number(headers["grpc-status"] ?? GrpcStatus.OK);
    if (status === GrpcStatus.OK) return;
    this.#isOtherGrpc = status === GrpcStatus.UNIMPLEMENTED;
    this.#status = `${goCodeName(status)}: ${decodeGrpcMessage(String(headers["grpc-message"] ?? ""))}`;
  };

  #lost(why: string): Error {
    if (why === NOT_HTTP2)
      return badAnswer(this.#where, "it is not HTTP/2, as of gRPC, so this may be an http-connect frontend");
    const { session, tls } = this.#options.open;
    if (tls !== undefined && this.#isOtherGrpc) return explainOtherGrpc(this.#status, tls.facts());
    const isAnswered = this.#connectId !== 0 || this.#status !== "";
    if (tls !== undefined && !isAnswered) {
      if (isAboutCertificates(session.goawayText)) return explainWords(session.goawayText, tls.facts());
      const refusal = refusalBehind(session.transportError ?? why, tls);
      if (refusal !== undefined) return refusal;
    }
    // Its answer in HTTP/1 is lost where our next bytes meet a closed socket first.
    const hint = session.greeted
      ? ""
      : "; it had not answered in HTTP/2, as gRPC does, so this may be an http-connect frontend";
    return frontendLost(this.#where, `${why}${hint}`);
  }

  // ---- the end -----------------------------------------------------------------------------------------------------

  /** Nothing more will be sent, and nothing more is wanted than what is under way. May be called again. */
  #hangUp(error?: string): void {
    if (this.#state !== "open") return;
    const connectId = this.#connectId;
    this.#stream.control(
      error === undefined ? { type: "CLOSE_REQ", connectId } : { type: "CLOSE_REQ", connectId, error },
    );
    this.#leave("closing");
  }

  #leave(state: "closing" | "over"): void {
    this.#state = state;
    this.#cancelLateClose ??= this.#runtime.after(CLOSE_WAIT_MS, () =>
      this.#stream.cancel(`it did not confirm the end of the tunnel within ${CLOSE_WAIT_MS} ms`),
    );
  }

  /** Ends the stream once everything is sent; whatever else comes is read and thrown away, so that its end is noticed. */
  #endStream(): void {
    this.#leave("over");
    this.#stream.resume();
    this.#stream.end();
  }

  // ---- Duplex ------------------------------------------------------------------------------------------------------

  override _read(): void {
    this.#stream.resume();
  }

  override read(size?: number): Buffer | null {
    const chunk = super.read(size) as Buffer | null;
    // Later, so that whoever reads has this chunk before the error.
    if (this.#cutBy !== undefined && this.readableLength === 0) this.#runtime.next(() => this.destroy(this.#cutBy));
    return chunk;
  }

  override _write(chunk: Buffer, _encoding: string, done: () => void): void {
    this.bytesWritten += chunk.length;
    this.#idle?.refresh();
    if (this.#state !== "open" || this.#stream.data(this.#connectId, chunk)) done();
    else this.#waiting = done;
  }

  override _final(done: () => void): void {
    this.#hangUp();
    done();
  }

  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    clearTimeout(this.#idle);
    this.#cancelLateCut?.();
    this.#hangUp();
    // Nobody reads any more: what still comes is thrown away instead of holding the stream up.
    this.#stream.resume();
    done(error);
  }

  // ---- net.Socket --------------------------------------------------------------------------------------------------

  setTimeout(ms: number, onTimeout?: () => void): this {
    this.timeout = ms;
    clearTimeout(this.#idle);
    this.#idle = undefined;
    if (onTimeout !== undefined) {
      if (ms === 0) this.off("timeout", onTimeout);
      else this.once("timeout", onTimeout);
    }
    if (ms > 0 && !this.destroyed) this.#idle = setTimeout(() => this.emit("timeout"), ms).unref();
    return this;
  }

  /** Packets are sent as they come; there is nothing to switch. */
  setNoDelay(): this {
    return this;
  }

  /** The connection to the proxy-server has its own keep-alive, and the agent one towards the endpoint. */
  setKeepAlive(): this {
    return this;
  }

  /** Ends it so that the target knows that it did not get everything. */
  resetAndDestroy(): this {
    this.#hangUp("the caller's connection was lost");
    return this.destroy();
  }

  destroySoon(): void {
    if (this.writable) this.end();
    if (this.writableFinished) this.destroy();
    else this.once("finish", () => this.destroy());
  }

  ref(): this {
    this.#options.setRef(true);
    return this;
  }

  unref(): this {
    this.#options.setRef(false);
    return this;
  }
}
