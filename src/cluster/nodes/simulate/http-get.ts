/** One GET as Ignition makes it: through the config's proxy, trusting its authorities, following redirects. */
import { request as httpRequest, type IncomingMessage, type RequestOptions } from "node:http";
import { request as httpsRequest } from "node:https";
import type { Socket } from "node:net";
import { type SecureContext, connect as tlsConnect } from "node:tls";
import { noProxyRules } from "../../../tunnel/wire/no-proxy.js";
import type { ProxySettings } from "../../ignition/model/config.js";

export interface Manners {
  readonly headers: Readonly<Record<string, string>>;
  readonly trust: SecureContext;
  readonly proxy: ProxySettings | undefined;
  /** Until the head of the answer is there. */
  readonly headTimeoutMs: number;
  readonly largest: number;
  /** Ends the whole of it, the answer's body included. */
  readonly signal: AbortSignal;
}

export interface Answer {
  readonly status: number;
  readonly body: Buffer;
}

/** Go's client gives up after as many. */
const MOST_REDIRECTS = 10;
const moved = [301, 302, 303, 307, 308];

/** Rejects when no whole answer came. */
export async function httpGet(url: URL, manners: Manners): Promise<Answer> {
  let at = url;
  let headers = manners.headers;
  for (let redirects = 0; ; redirects++) {
    const response = await open(at, { ...manners, headers });
    const { location } = response.headers;
    const status = response.statusCode ?? 0;
    if (!moved.includes(status) || location === undefined) return { status, body: await bodyOf(response, manners) };
    response.destroy();
    if (redirects >= MOST_REDIRECTS) throw new Error(`stopped after ${MOST_REDIRECTS} redirects`);
    at = new URL(location, at);
    // A token is meant for the address in the config and for no other.
    headers = {};
  }
}

async function open(url: URL, manners: Manners): Promise<IncomingMessage> {
  const { headTimeoutMs } = manners;
  const request = await send(url, manners);
  return new Promise((resolve, reject) => {
    const late = () => request.destroy(new Error(`no answer within ${headTimeoutMs / 1000} s`));
    const timer = setTimeout(late, headTimeoutMs);
    request.on("error", (reason) => {
      clearTimeout(timer);
      reject(reason);
    });
    request.once("response", (response) => {
      clearTimeout(timer);
      resolve(response);
    });
    request.end();
  });
}

async function send(url: URL, { headers, proxy, signal, trust }: Manners) {
  const isSecure = url.protocol === "https:";
  const common: RequestOptions = { method: "GET", headers: { ...headers }, signal };
  const alone = { ...common, agent: false } as const;
  const way = proxyFor(url, proxy);
  const tls = { secureContext: trust, servername: nameOf(url) };
  if (way === undefined) return isSecure ? httpsRequest(url, { ...alone, ...tls }) : httpRequest(url, alone);
  if (!isSecure) {
    const auth = url.username === "" ? {} : { auth: loginText(url) };
    const forwarded = { host: url.host, ...headers, ...loginOf(way) };
    return httpRequest(withoutLogin(way), { ...alone, ...auth, path: withoutLogin(url).href, headers: forwarded });
  }
  const socket = await connectThrough(way, `${url.hostname}:${url.port || 443}`, signal);
  // Only without an agent is the connection taken that is made here.
  return httpsRequest(url, { ...common, createConnection: () => tlsConnect({ socket, ...tls }) });
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

/** Meant for the proxy: in a URL it would become a header for the server behind it. */
function loginOf(proxy: URL): Record<string, string> {
  if (proxy.username === "") return {};
  return { "proxy-authorization": `Basic ${Buffer.from(loginText(proxy)).toString("base64")}` };
}

function loginText({ password, username }: URL): string {
  return `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
}

function withoutLogin(url: URL): URL {
  const bare = new URL(url);
  bare.username = "";
  bare.password = "";
  return bare;
}

function connectThrough(proxy: URL, target: string, signal: AbortSignal): Promise<Socket> {
  const open = proxy.protocol === "https:" ? httpsRequest : httpRequest;
  return new Promise((resolve, reject) => {
    const headers = { host: target, ...loginOf(proxy) };
    const request = open(withoutLogin(proxy), { method: "CONNECT", path: target, headers, agent: false, signal });
    request.once("connect", ({ statusCode }, socket) => {
      if (statusCode === 200) resolve(socket as Socket);
      else {
        socket.destroy();
        reject(new Error(`the proxy ${proxy.host} answered CONNECT with ${statusCode}`));
      }
    });
    request.once("error", reject);
    request.end();
  });
}

async function bodyOf(response: IncomingMessage, { largest }: Manners): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of response as AsyncIterable<Buffer>) {
    size += part.length;
    if (size > largest) {
      response.destroy();
      throw new Error(`the answer has more than ${Math.round(largest / 1024 / 1024)} MiB`);
    }
    parts.push(part);
  }
  return Buffer.concat(parts);
}
