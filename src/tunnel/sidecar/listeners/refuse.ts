import { type ServerResponse, STATUS_CODES } from "node:http";
import { type ProxyRefusal, refusalHeaders } from "../../wire/http-proxy.js";

/** The proxy's own answer, or, when another one has begun already, a loud end of it. */
export function refuse(response: ServerResponse, refusal: ProxyRefusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  // With its reason, because another one may be left from an answer that could not be passed on.
  response.writeHead(refusal.status, STATUS_CODES[refusal.status], refusalHeaders(refusal));
  response.end(`${refusal.text}\n`);
}
