/** One GET as Ignition makes it: through the config's proxy, trusting its authorities, following redirects. */
import type { IncomingMessage } from "node:http";
import { type SecureContext, connect as tlsConnect } from "node:tls";
import { messageOf } from "../../../base/errors/error.js";
import { connectThrough, proxyLogin } from "../../../base/http-connect.js";
import { answerBody, openRequest } from "../../../base/http-get.js";
import { noProxyRules } from "../../../tunnel/wire/no-proxy.js";
import type { ProxySettings } from "../../ignition/config.js";

interface IgnitionGetOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly trust: SecureContext;
  readonly proxy: ProxySettings | undefined;
  /** How long the head of the answer may take. */
  readonly headTimeoutMs: number;
  readonly maxBytes: number;
  /** Ends the whole request, the answer's body included. */
  readonly signal: AbortSignal;
}

export interface FetchedContent {
  readonly status: number;
  readonly body: Buffer;
}

/** Go's client gives up after as many. */
const MOST_REDIRECTS = 10;
const REDIRECTS = [301, 302, 303, 307, 308];

/** Rejects when no whole answer came. */
export async function getAsIgnition(url: URL, options: IgnitionGetOptions): Promise<FetchedContent> {
  let at = url;
  let headers = options.headers;
  for (let redirects = 0; ; redirects++) {
    const response = await open(at, { ...options, headers });
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (!REDIRECTS.includes(status) || location === undefined)
      return { status, body: await answerBody(response, options.maxBytes) };
    response.destroy();
    if (redirects >= MOST_REDIRECTS) throw new Error(`stopped after ${MOST_REDIRECTS} redirects`);
    at = new URL(location, at);
    // A token is meant for the address in the config and for no other.
    headers = {};
  }
}

async function open(url: URL, options: IgnitionGetOptions): Promise<IncomingMessage> {
  const { headTimeoutMs, proxy, trust } = options;
  const late = new AbortController();
  const timer = setTimeout(() => late.abort(new Error(`no answer within ${headTimeoutMs / 1000} s`)), headTimeoutMs);
  const common = { headers: { ...options.headers }, signal: AbortSignal.any([options.signal, late.signal]) };
  const alone = { ...common, agent: false } as const;
  const through = proxyFor(url, proxy);
  const tls = { secureContext: trust, servername: nameOf(url) };
  try {
    if (through === undefined) return await openRequest(url, { ...alone, ...tls });
    if (url.protocol !== "https:") {
      const headers = { host: url.host, ...common.headers, ...proxyLogin(through) };
      const path = withoutLogin(url).href;
      return await openRequest(withoutLogin(through), { ...alone, ...loginOf(url), path, headers });
    }
    const target = { host: url.hostname.replace(/^\[|\]$/g, ""), port: Number(url.port || 443) };
    const socket = await connectThrough(through, target, common.signal).catch((reason: unknown) => {
      throw new Error(`through the proxy ${through.host}: ${messageOf(reason)}`, { cause: reason });
    });
    // Only without an agent is the connection taken that is made here.
    return await openRequest(url, { ...common, createConnection: () => tlsConnect({ socket, ...tls }) });
  } finally {
    clearTimeout(timer);
  }
}

/** No server name for addresses: TLS has none for them. */
function nameOf({ hostname }: URL): string {
  return /^[\d.]+$|^\[/.test(hostname) ? "" : hostname;
}

function proxyFor(url: URL, proxy: ProxySettings | undefined): URL | undefined {
  const chosen = url.protocol === "https:" ? proxy?.httpsProxy : proxy?.httpProxy;
  if (!chosen) return undefined;
  const port = Number(url.port || (url.protocol === "https:" ? 443 : 80));
  const host = url.hostname.replace(/^\[|\]$/g, "");
  return noProxyRules((proxy?.noProxy ?? []).join(","))(host, port) ? undefined : new URL(chosen);
}

/** The server's login. In the URL of a request to the proxy it would become the proxy's. */
function loginOf({ password, username }: URL) {
  return username === "" ? {} : { auth: `${decodeURIComponent(username)}:${decodeURIComponent(password)}` };
}

function withoutLogin(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}
