/** A target's answer on its way back to the client. */
import type { ClientRequest, IncomingMessage, ServerResponse } from "node:http";
import { pipeline } from "node:stream";
import { endToEndHeaders, endToEndTrailers, hasUnknownCoding, pairs } from "../../wire/http-proxy.js";
import type { Traffic } from "../relay.js";

/** Streams it, every piece as it comes. `self` is our name in Via. Throws when it cannot be passed on. */
export function passOn(answer: IncomingMessage, response: ServerResponse, self: string, traffic: Traffic): void {
  const coding = answer.headers["transfer-encoding"];
  if (hasUnknownCoding(coding)) throw new Error(`its body has the transfer coding ${JSON.stringify(coding)}`);
  const headers = [...endToEndHeaders(answer.rawHeaders), "Via", `1.1 ${self}`];
  // The target's own date, or none.
  response.sendDate = false;
  response.writeHead(answer.statusCode ?? 502, answer.statusMessage ?? "", headers);
  // An event stream may have nothing to say for a long time.
  response.flushHeaders();
  answer.on("data", (chunk: Buffer) => {
    traffic.fromTarget += chunk.length;
  });
  answer.once("end", () => passTrailers(answer, response));
  pipeline(answer, response, () => {});
}

/** Must be called when the whole message was read and before the other one ends. */
export function passTrailers(from: IncomingMessage, to: ClientRequest | ServerResponse): void {
  if (from.rawTrailers.length > 0) to.addTrailers(endToEndTrailers(from.rawTrailers));
}

/** The head as it came, for a connection that changes its protocol: here `Connection` and `Upgrade` are the message. */
export function answerHead({ statusCode, statusMessage, rawHeaders }: IncomingMessage): string {
  const lines = [...pairs(rawHeaders)].map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${statusCode} ${statusMessage}\r\n${lines.join("")}\r\n`;
}
