/** Plain HTTP requests: asked again of the target, or of the customer's proxy, and their answers streamed back. */
import { randomBytes } from "node:crypto";
import {
  type ClientRequest,
  request as httpRequest,
  type IncomingMessage,
  type RequestOptions,
  ServerResponse,
} from "node:http";
import type { Socket } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { messageOf } from "../../../base/errors/error.js";
import type { ProxyRefusal } from "../../wire/http-proxy.js";
import type { Wish } from "../channels.js";
import type { Asked, Desk } from "../desk.js";
import { httpRefusalOf } from "../refusals.js";
import { WayError } from "../way.js";
import { answerHead, passOn, passTrailers } from "./answer.js";
import { type Errand, errandOf, type Refused } from "./errand.js";
import { type HopOptions, HopPool } from "./hop-pool.js";
import { refuse } from "./refuse.js";

/** What the target's answer may have in its head. */
const MAX_ANSWER_HEADER_BYTES = 256 * 1024;

/** May be asked twice without harm, so also on a connection that the target may just be closing. */
const SAFE_METHODS = new Set(["GET", "HEAD", "OPTIONS", "TRACE"]);

const BODY_WITH_UPGRADE: ProxyRefusal = {
  status: 501,
  proxyStatus: "http_request_error",
  text: "A request with a body cannot change the protocol; use CONNECT.",
};

export class Forwarder {
  readonly #desk: Desk;
  readonly #kept = new HopPool(true);
  readonly #fresh = new HopPool(false);
  readonly #self = `drawbridge-${randomBytes(4).toString("hex")}`;

  constructor(desk: Desk) {
    this.#desk = desk;
  }

  forward(request: IncomingMessage, response: ServerResponse): void {
    const errand = errandOf(request, this.#desk.way, this.#self);
    if ("refusal" in errand) {
      this.#turnAway("forward", errand, response);
      return;
    }
    const repeatable = SAFE_METHODS.has(errand.method) && !errand.hasBody;
    const asked = this.#desk.asks("forward", errand.target);
    this.#send(asked, errand, request, response, repeatable ? this.#kept : this.#fresh);
  }

  /** WebSocket and its like: bytes from the moment the target agrees, an ordinary answer when it does not. */
  upgrade(request: IncomingMessage, socket: Socket, head: Buffer): void {
    const response = responseOn(socket, request);
    const errand = errandOf(request, this.#desk.way, this.#self);
    if ("refusal" in errand || errand.hasBody) {
      const refused: Refused = "refusal" in errand ? errand : { outcome: "unsupported", refusal: BODY_WITH_UPGRADE };
      this.#turnAway("upgrade", refused, response);
      return;
    }
    // Before anything else can be read: a stream that has ended takes nothing back.
    if (head.length > 0) socket.unshift(head);
    const headers = [...errand.headers, "Connection", "Upgrade", "Upgrade", request.headers.upgrade ?? ""];
    const asked = this.#desk.asks("upgrade", errand.target);
    const sent = this.#ask(asked, { ...errand, headers }, request, this.#fresh);
    this.#handle(asked, sent, response);
    sent.once("upgrade", (answer, far, early) => {
      this.#desk.established(asked);
      response.detachSocket(socket);
      if (early.length > 0) far.unshift(early);
      socket.write(answerHead(answer), "latin1");
      this.#desk.join(asked, socket, far);
    });
    sent.end();
  }

  /** Lets kept connections go. */
  close(): void {
    this.#kept.destroy();
  }

  #send(asked: Asked, errand: Errand, request: IncomingMessage, response: ServerResponse, pool: HopPool): void {
    const sent = this.#ask(asked, errand, request, pool);
    const again = pool === this.#kept ? () => this.#send(asked, errand, request, response, this.#fresh) : undefined;
    this.#handle(asked, sent, response, again);
    sent.once("continue", () => response.writeContinue());
    if (!errand.hasBody) {
      sent.end();
      return;
    }
    // The target may have something to say before the body comes.
    sent.flushHeaders();
    const { traffic } = this.#desk;
    request.on("data", (chunk: Buffer) => {
      traffic.toTarget += chunk.length;
    });
    request.once("end", () => passTrailers(request, sent));
    request.once("error", () => sent.destroy());
    request.pipe(sent);
  }

  #ask(asked: Asked, errand: Errand, request: IncomingMessage, pool: HopPool): ClientRequest {
    const desk = this.#desk;
    const { hop, target, method, path, headers } = errand;
    const options: RequestOptions & HopOptions = {
      ...{ host: target.host, port: target.port, method, path, headers: headers as string[], setHost: false },
      maxHeaderSize: MAX_ANSWER_HEADER_BYTES,
      agent: pool,
      hop,
      dial: () => desk.dial(asked, request.socket, (stop) => hop.open(stop)),
    };
    const sent = httpRequest(options);
    const { idleTimeoutMs } = desk.limits;
    if (idleTimeoutMs > 0) sent.setTimeout(idleTimeoutMs, () => sent.destroy(new Error("nothing moved for too long")));
    return sent;
  }

  #handle(asked: Asked, sent: ClientRequest, response: ServerResponse, again?: () => void): void {
    const { target } = asked;
    const fail = (reason: unknown): void => {
      this.#desk.failed(asked, reason);
      refuse(response, httpRefusalOf(reason));
    };
    sent.once("response", (answer) => {
      try {
        passOn(answer, response, this.#self, this.#desk.traffic);
        this.#desk.established(asked);
      } catch (reason) {
        answer.destroy();
        fail(brokenAnswer(target, reason));
      }
    });
    sent.on("error", (reason) => {
      if (response.headersSent) response.destroy();
      else if (again !== undefined && sent.reusedSocket) again();
      else fail(asked.dialMs === undefined && !sent.reusedSocket ? reason : brokenAnswer(target, reason));
    });
    response.once("close", () => sent.destroy());
  }

  #turnAway(wish: Wish, { outcome, refusal }: Refused, response: ServerResponse): void {
    this.#desk.turnedAway(wish, outcome, refusal.text);
    refuse(response, refusal);
  }
}

/** The connection stood; what came over it, or did not, was no answer. */
function brokenAnswer({ host, port }: { host: string; port: number }, cause: unknown): WayError {
  const message = `${joinHostPort(host, port)} was reached, but gave no HTTP answer: ${messageOf(cause)}.`;
  return new WayError("host", "DB_HTTP_ANSWER", message, { cause });
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
