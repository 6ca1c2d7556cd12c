import type { ServerResponse } from "node:http";
import { type ProxyRefusal, refusalHeaders } from "../../wire/http-proxy.js";

/** The proxy's own answer, or, when another one has begun already, a loud end of it. */
export function refuse(response: ServerResponse, refusal: ProxyRefusal): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  response.writeHead(refusal.status, refusalHeaders(refusal));
  response.end(`${refusal.text}\n`);
}
