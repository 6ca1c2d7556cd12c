/** Through an HTTP proxy, on a stream that leads to it: TLS where its URL says so, then CONNECT. */
import { isIP } from "node:net";
import type { Duplex } from "node:stream";
import tls from "node:tls";
import { messageOf } from "../../../base/errors/error.js";
import { exchangeConnect } from "../../client/connect-dial.js";
import { step } from "../../client/errors.js";
import type { Hindrance, Target } from "../way.js";
import { describeTarget, proxyError } from "./errors.js";
import type { HttpProxy } from "./proxy-url.js";
import type { ProxyTrust } from "./trust.js";

/** How much of a refusal's body is worth telling. */
const MAX_BODY_BYTES = 500;

/** A stream on which the proxy itself can be spoken to. Takes the stream over: it is destroyed when this rejects. */
export async function secureProxy(
  stream: Duplex,
  proxy: HttpProxy,
  trust: ProxyTrust,
  stop: AbortSignal,
): Promise<Duplex> {
  if (!proxy.secure) return stream;
  let secured: tls.TLSSocket;
  try {
    secured = tls.connect({
      socket: stream,
      secureContext: trust.context(),
      host: proxy.host,
      ...(isIP(proxy.host) === 0 ? { servername: proxy.host } : {}),
      ALPNProtocols: ["http/1.1"],
    });
  } catch (reason) {
    stream.destroy();
    throw reason;
  }
  secured.on("error", () => {});
  try {
    return await step<Duplex>(stop, (resolve, reject) => {
      const onReady = (): void => resolve(secured);
      const fail = (why: unknown): void => {
        const what = `cannot be spoken to by TLS: ${messageOf(why).replace(/\.$/, "")}`;
        reject(proxyError("path", proxy, what, { cause: why }));
      };
      const onClose = (): void => fail("it hung up");
      secured.once("secureConnect", onReady).once("error", fail).once("close", onClose);
      return () => secured.off("secureConnect", onReady).off("error", fail).off("close", onClose);
    });
  } catch (reason) {
    secured.destroy();
    stream.destroy();
    throw reason;
  }
}

/** Asks the proxy for a tunnel to the target, by the name that it was given, so that the proxy resolves it. */
export async function connectThroughProxy(
  stream: Duplex,
  proxy: HttpProxy,
  target: Target,
  stop: AbortSignal,
): Promise<Duplex> {
  const address = describeTarget(target);
  const login = proxy.authorization === undefined ? "" : `Proxy-Authorization: ${proxy.authorization}\r\n`;
  try {
    const exchange = {
      request: `CONNECT ${address} HTTP/1.1\r\nHost: ${address}\r\n${login}\r\n`,
      maxBodyBytes: MAX_BODY_BYTES,
      malformed: () => proxyError("path", proxy, "does not speak HTTP/1"),
      lost: (why: unknown) => proxyError("path", proxy, `did not answer for ${address}: ${messageOf(why)}`),
    };
    const refusal = await exchangeConnect(stream, exchange, stop);
    if (refusal === undefined) return stream;
    const { status, body } = refusal;
    const said = body === "" ? "" : `: ${oneLine(body)}`;
    const login407 = proxy.authorization === undefined ? "wants a login" : "does not accept the login";
    const what = status === 407 ? `${login407} (407)` : `refused to connect to ${address} (${status})`;
    throw proxyError(hindranceOf(status), proxy, `${what}${said}`);
  } catch (reason) {
    stream.destroy();
    throw reason;
  }
}

function hindranceOf(status: number): Hindrance {
  if (status === 403) return "forbidden";
  if (status === 504) return "timeout";
  return status === 502 || status === 503 ? "host" : "path";
}

/** Pages are shown in logs, where a line break could pass for another entry. */
function oneLine(body: string): string {
  return body.replace(/[\s\p{Cc}]+/gu, " ").trim();
}
