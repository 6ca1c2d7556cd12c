/** An HTTP proxy by its URL, as environment variables and flags give it. */

import { readdirSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Duplex } from "node:stream";
import { createSecureContext, rootCertificates, type SecureContext } from "node:tls";
import { DrawbridgeError, messageOf, reasonOf } from "../../../base/errors/error.js";
import { proxyLogin } from "../../../base/http-connect.js";
import { exchangeConnect } from "../../client/connect-dial.js";
import { DialFailure } from "../../outgoing/explain.js";
import { secure } from "../../outgoing/secure.js";
import { readCertificateSet } from "../../pki/certificate-set.js";
import { certificateBlocks } from "../../pki/pem.js";
import { addressOf, type FailureKind, proxyError, type Target } from "./errors.js";

export interface HttpProxy extends Target {
  /** The flag or the variable that names it. */
  readonly from: string;
  /** Whether the connection to the proxy itself is TLS. */
  readonly secure: boolean;
  /** The value of Proxy-Authorization; undefined: no login. */
  readonly authorization: string | undefined;
}

/** Undefined for an empty text. As in Go, a URL without a scheme is `http://`. The text is never repeated: it may hold a password. */
export function parseProxyUrl(text: string, from: string): HttpProxy | undefined {
  if (text === "") return undefined;
  const full = text.includes("://") ? text : `http://${text}`;
  const url = URL.canParse(full) ? new URL(full) : undefined;
  if (url === undefined || url.hostname === "" || !/^https?:$/.test(url.protocol)) {
    const message = `${from} is not the URL of an HTTP proxy: write http://host:port or https://host:port.`;
    throw new DrawbridgeError("DB_FLAG_VALUE", message);
  }
  const secure = url.protocol === "https:";
  return {
    from,
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (secure ? 443 : 80)),
    secure,
    authorization: proxyLogin(url)["proxy-authorization"],
  };
}

/** How much of a refusal's body is worth telling. */
const MAX_BODY_BYTES = 500;

/** A stream on which the proxy itself can be spoken to. Takes the stream over: it is destroyed when this rejects. */
export async function secureProxy(
  stream: Duplex,
  proxy: HttpProxy,
  trust: () => SecureContext,
  stop: AbortSignal,
): Promise<Duplex> {
  if (!proxy.secure) return stream;
  const [where, name] = [addressOf(proxy), proxy.host];
  const credentials = () => ({ self: "this sidecar", set: {}, admittedBy: "authorities" });
  try {
    return (await secure({ socket: stream, where, name, context: trust(), alpn: ["http/1.1"], credentials }, stop))
      .socket;
  } catch (why) {
    stream.destroy();
    if (!(why instanceof DialFailure)) throw why;
    throw proxyError("path", proxy, `cannot be spoken to by TLS: ${reasonOf(why)}`, { cause: why });
  }
}

/** Asks the proxy for a tunnel to the target, by the name that it was given, so that the proxy resolves it. */
export async function connectThroughProxy(
  stream: Duplex,
  proxy: HttpProxy,
  target: Target,
  stop: AbortSignal,
): Promise<Duplex> {
  const address = addressOf(target);
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
    const reason = body === "" ? "" : `: ${oneLine(body)}`;
    const login407 = proxy.authorization === undefined ? "wants a login" : "does not accept the login";
    const what = status === 407 ? `${login407} (407)` : `refused to connect to ${address} (${status})`;
    throw proxyError(failureKindOf(status), proxy, `${what}${reason}`);
  } catch (reason) {
    stream.destroy();
    throw reason;
  }
}

function failureKindOf(status: number): FailureKind {
  if (status === 403) return "forbidden";
  if (status === 504) return "timeout";
  return status === 502 || status === 503 ? "host" : "path";
}

/** Pages are shown in logs, where a line break could pass for another entry. */
function oneLine(body: string): string {
  return body.replace(/[\s\p{Cc}]+/gu, " ").trim();
}

/** Where systems keep their bundle, as Go looks for it; the first that is there counts. */
const FILES = [
  "/etc/ssl/certs/ca-certificates.crt",
  "/etc/pki/tls/certs/ca-bundle.crt",
  "/etc/ssl/ca-bundle.pem",
  "/etc/pki/ca-trust/extracted/pem/tls-ca-bundle.pem",
  "/etc/ssl/cert.pem",
];

/** HyperShift mounts a cluster's additional authorities into the second. */
const FOLDERS = ["/etc/ssl/certs", "/etc/pki/tls/certs"];

/**
 * Gives the context for TLS to proxies, made again when the bundle was replaced. Throws a DrawbridgeError that names the
 * file when it cannot be used.
 */
export function proxyTrust(bundleFile: string): () => SecureContext {
  let made: { readonly stamp: string; readonly context: SecureContext } | undefined;
  return () => {
    const found = bundleFile === "" ? undefined : statSync(bundleFile, { throwIfNoEntry: false });
    const stamp = found === undefined ? "none" : `${found.ino} ${found.size} ${found.mtimeMs}`;
    if (made?.stamp !== stamp) {
      const { ca = "" } = bundleFile === "" ? {} : readCertificateSet({ caFile: bundleFile });
      // OpenSSL passes over what it cannot read, so one broken file takes no trust away from the others.
      const all = new Set([...rootCertificates, ...systemCertificates(), ...certificateTexts(ca)]);
      made = { stamp, context: createSecureContext({ ca: [...all], minVersion: "TLSv1.2" }) };
    }
    return made.context;
  };
}

function systemCertificates(env = process.env): string[] {
  const files = env.SSL_CERT_FILE ? [env.SSL_CERT_FILE] : FILES;
  const folders = env.SSL_CERT_DIR ? env.SSL_CERT_DIR.split(":") : FOLDERS;
  const bundle = files.map(certificatesOf).find((found) => found.length > 0) ?? [];
  const single = folders.flatMap((folder) => namesIn(folder).flatMap((name) => certificatesOf(join(folder, name))));
  return [...bundle, ...single];
}

/** Without the hash links that OpenSSL makes: they lead to the same files. */
const namesIn = (folder: string): string[] =>
  noneIfUnreadable(() => readdirSync(folder).filter((name) => /\.(pem|crt)$/.test(name)));

const certificatesOf = (file: string): string[] => noneIfUnreadable(() => certificateTexts(readFileSync(file, "utf8")));

function noneIfUnreadable(read: () => string[]): string[] {
  try {
    return read();
  } catch {
    return [];
  }
}

/** Each in the spelling of Node's own, so that what two lists hold counts once. */
function certificateTexts(pem: string): string[] {
  return certificateBlocks(pem).map(({ text }) => text.trimEnd());
}
