/** Plain HTTP requests: asked again of the target, or of the customer's proxy, and their answers streamed back. */
import { randomBytes } from "node:crypto";
import {
  Agent,
  type ClientRequest,
  type ClientRequestArgs,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import type { Duplex } from "node:stream";
import { messageOf } from "../../../base/errors/error.js";
import { answerHead } from "../../wire/http-proxy.js";
import type { ClientRequestKind } from "../channels.js";
import type { ConnectionHandler, TargetRequest } from "../connection-handler.js";
import { dialFailureOf, refuse, requestError } from "../refusals.js";
import { addressOf, RouteError, type Target } from "../routing/errors.js";
import type { HttpRoute } from "../routing/router.js";
import {
  copyTrailers,
  type ForwardedRequest,
  forwardedRequestOf,
  type RefusedRequest,
  streamAnswer,
} from "./forwarded-request.js";

/** What the target's answer may have in its head. */
const MAX_ANSWER_HEADER_BYTES = 256 * 1024;

/** May be asked twice without harm, so also on a connection that the target may just be closing. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

const BODY_WITH_UPGRADE: RefusedRequest = {
  outcome: "unsupported",
  ...requestError(501, "A request with a body cannot change the protocol; use CONNECT."),
};

/** A client's request, where its answer goes, and what is sent on for it. */
interface Exchange {
  readonly targetRequest: TargetRequest;
  readonly forwarded: ForwardedRequest;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
}

export class Forwarder {
  readonly #handler: ConnectionHandler;
  readonly #kept = new RoutePool(true);
  readonly #fresh = new RoutePool(false);
  readonly #self = `drawbridge-${randomBytes(4).toString("hex")}`;

  constructor(handler: ConnectionHandler) {
    this.#handler = handler;
  }

  forward(request: IncomingMessage, response: ServerResponse): void {
    const forwarded = forwardedRequestOf(request, this.#handler.router, this.#self);
    if ("outcome" in forwarded) {
      this.#refuse("forward", forwarded, response);
      return;
    }
    const isRepeatable = SAFE_METHODS.has(forwarded.method) && !forwarded.hasBody;
    const targetRequest = this.#handler.requestFor("forward", forwarded.target);
    this.#send({ targetRequest, forwarded, request, response }, isRepeatable ? this.#kept : this.#fresh);
  }

  /** WebSocket and its like: bytes from the moment the target agrees, an ordinary answer when it does not. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const response = responseOn(socket, request);
    const forwarded = forwardedRequestOf(request, this.#handler.router, this.#self);
    if ("outcome" in forwarded || forwarded.hasBody) {
      this.#refuse("upgrade", "outcome" in forwarded ? forwarded : BODY_WITH_UPGRADE, response);
      return;
    }
    // Before anything else can be read: a stream that has ended takes nothing back.
    if (head.length > 0) socket.unshift(head);
    const headers = [...forwarded.headers, "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? ""];
    const targetRequest = this.#handler.requestFor("upgrade", forwarded.target);
    const sent = this.#ask({ targetRequest, forwarded: { ...forwarded, headers }, request, response }, this.#fresh);
    sent.once("upgrade", (answer, far, early) => {
      this.#handler.established(targetRequest);
      response.detachSocket(socket);
      if (early.length > 0) far.unshift(early);
      // As it came: here `Connection` and `Upgrade` are the message.
      const { statusCode = 101, statusMessage = "", rawHeaders } = answer;
      socket.write(answerHead(statusCode, statusMessage, rawHeaders), "latin1");
      this.#handler.relay(targetRequest, socket, far);
    });
    sent.end();
  }

  /** Lets kept connections go. */
  close(): void {
    this.#kept.destroy();
  }

  #send(exchange: Exchange, pool: RoutePool): void {
    const { forwarded, request, response } = exchange;
    const sent = this.#ask(exchange, pool);
    sent.once("continue", () => response.writeContinue());
    if (!forwarded.hasBody) {
      sent.end();
      return;
    }
    // The target may have something to say before the body comes.
    sent.flushHeaders();
    const { traffic } = this.#handler;
    request.on("data", (chunk: Buffer) => {
      traffic.toTarget += chunk.length;
    });
    request.once("end", () => copyTrailers(request, sent));
    request.once("error", () => sent.destroy());
    request.pipe(sent);
  }

  /** The request to the next hop, not ended yet, whose answer or failure the client gets. */
  #ask(exchange: Exchange, pool: RoutePool): ClientRequest {
    const { targetRequest, forwarded, request, response } = exchange;
    const { route, target, method, path, headers } = forwarded;
    const handler = this.#handler;
    const options: RequestOptions & RouteRequestOptions = {
      ...{ host: target.host, port: target.port, method, path, headers: headers as string[], setHost: false },
      maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
      agent: pool,
      route,
      dial: () => handler.dial(targetRequest, request.socket, (stop) => route.open(stop)),
    };
    const sent = httpRequest(options);
    const { idleTimeoutMs } = handler.limits;
    if (idleTimeoutMs > 0) sent.setTimeout(idleTimeoutMs, () => sent.destroy(new Error("nothing moved for too long")));
    const fail = (reason: unknown): void => {
      handler.failed(targetRequest, reason);
      refuse(response, dialFailureOf(reason), handler.runtime);
    };
    sent.once("response", (answer) => {
      try {
        streamAnswer(answer, response, { self: this.#self, traffic: handler.traffic, clock: handler.runtime });
        handler.established(targetRequest);
      } catch (reason) {
        answer.destroy();
        fail(brokenAnswer(target, reason));
      }
    });
    sent.on("error", (reason) => {
      // The answer hears of it, too, behind its last bytes.
      if (response.headersSent) return;
      if (pool === this.#kept && sent.reusedSocket) this.#send(exchange, this.#fresh);
      else fail(targetRequest.dialMs === undefined && !sent.reusedSocket ? reason : brokenAnswer(target, reason));
    });
    response.once("close", () => sent.destroy());
    return sent;
  }

  #refuse(kind: ClientRequestKind, refused: RefusedRequest, response: ServerResponse): void {
    this.#handler.refused(kind, refused.outcome, refused.text);
    refuse(response, refused, this.#handler.runtime);
  }
}

/** The target was connected, but what came over the connection was no HTTP answer. */
function brokenAnswer(target: Target, cause: unknown): RouteError {
  const message = `${addressOf(target)} was reached, but gave no HTTP answer: ${messageOf(cause)}.`;
  return new RouteError("host", "DB_HTTP_ANSWER", message, { cause });
}

/** node:http makes no response object for a request to change the protocol. */
function responseOn(socket: Socket, request: IncomingMessage): ServerResponse {
  const response = new ServerResponse(request);
  response.shouldKeepAlive = false;
  response.assignSocket(socket);
  response.on("error", () => {});
  const onDrain = (): void => void response.emit("drain");
  socket.on("drain", onDrain);
  response.once("close", () => socket.off("drain", onDrain));
  response.once("finish", () => socket.end());
  return response;
}

/** Shorter than web servers commonly keep theirs, so that few are found closed when they are wanted again. */
const IDLE_MS = 15_000;
const MAX_IDLE = 64;

export interface RouteRequestOptions extends ClientRequestArgs {
  readonly route: HttpRoute;
  /** A connection for this route; the dial ends with the client. */
  readonly dial: () => Promise<Duplex>;
}

type OnConnection = (error: Error | null, stream: Duplex) => void;

export class RoutePool extends Agent {
  constructor(keepAlive: boolean) {
    super({ keepAlive, timeout: IDLE_MS, maxFreeSockets: MAX_IDLE });
  }

  override createConnection(options: ClientRequestArgs, done: OnConnection): undefined {
    (options as RouteRequestOptions).dial().then(
      (stream) => done(null, stream),
      // Node reads the error first and takes no stream then, whatever the types say.
      (reason: Error) => done(reason, undefined as unknown as Duplex),
    );
  }

  override getName(options?: ClientRequestArgs): string {
    return (options as RouteRequestOptions | undefined)?.route.key ?? "";
  }

  override keepSocketAlive(stream: Duplex): boolean {
    let idle = 0;
    for (const sockets of Object.values(this.freeSockets)) idle += sockets?.length ?? 0;
    // Node's answer is a boolean; its types miss that.
    return idle < MAX_IDLE && (super.keepSocketAlive(stream) as unknown as boolean);
  }
}
