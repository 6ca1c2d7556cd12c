/** One attempt to connect to a proxy-server: TLS, HTTP/2, the Connect call, its headers. */
import { readFileSync } from "node:fs";
import { STATUS_CODES } from "node:http";
import net, { isIP, type Socket } from "node:net";
import tls, { type TLSSocket } from "node:tls";
import { joinHostPort } from "../../base/address.js";
import { DrawbridgeError, messageOf, wrapErrors } from "../../base/errors/error.js";
import { proxyLogin } from "../../base/http-connect.js";
import { exchangeConnect } from "../client/connect-dial.js";
import { connected } from "../client/transport.js";
import { FEATURES_KEY, type Features, featureHeader, featuresIn, OUR_FEATURES } from "../link/features.js";
import { GrpcStatus } from "../link/grpc-status.js";
import {
  CallError,
  ENDED_BEFORE_HEADERS,
  openSession,
  responseHeaders,
  type Session,
  type Stream,
} from "../link/open.js";
import { readCertificateSet } from "../pki/certificate-set.js";
import { leafIn } from "../pki/pem.js";
import type { Resolver } from "../resolver/resolver.js";
import { NOT_A_HOST, parseHost } from "../wire/destination.js";
import { bypassesProxy } from "../wire/no-proxy.js";
import type { AgentConfig } from "./config.js";

export interface ServerConnection {
  readonly session: Session;
  readonly stream: Stream;
  readonly serverId: string;
  readonly serverCount: number;
  readonly features: Features;
}

export async function connectOnce(
  config: AgentConfig,
  server: { readonly host: string; readonly port: number },
  program: string,
  resolver: Resolver,
  env: ProxyEnvironment = process.env,
): Promise<ServerConnection> {
  const token = config.tokenFile === "" ? undefined : readToken(config.tokenFile);
  const socket = await connectToServer(server, config.tls, env, resolver);
  const authority = config.tls.certFile === "" ? joinHostPort(server.host, server.port) : server.host;
  const { session, call } = openSession(socket, bracketed(authority), "https", program);
  try {
    const stream = call("/AgentService/Connect", {
      agentid: config.agentId,
      agentidentifiers: config.identifiers,
      ...featureHeader(OUR_FEATURES),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    });
    const headers = await responseHeaders(stream, config.headerTimeoutMs).catch(explainHeaders);
    const serverCount = exactlyOne("server count", headers.servercount);
    if (!/^[+-]?\d+$/.test(serverCount)) {
      const message = `the server count ${JSON.stringify(serverCount)} is not a number`;
      throw new DrawbridgeError("DB_SERVER_HEADERS_MISSING", message);
    }
    return {
      session,
      stream,
      serverId: exactlyOne("server ID in the context", headers.serverid),
      serverCount: Number(serverCount),
      features: featuresIn(headers[FEATURES_KEY]),
    };
  } catch (error) {
    session.destroy();
    throw error;
  }
}

function bracketed(authority: string): string {
  return /^[0-9a-f:]*:[0-9a-f:]*:[0-9a-f:.]*$/i.test(authority) ? `[${authority}]` : authority;
}

function explainHeaders(reason: unknown): never {
  if (reason instanceof CallError && reason.status === GrpcStatus.DEADLINE_EXCEEDED) {
    const message = `the server did not answer Connect: ${reason.message}.`;
    throw new DrawbridgeError("DB_SERVER_HEADERS_TIMEOUT", message, { cause: reason });
  }
  if (reason instanceof CallError && reason.message === ENDED_BEFORE_HEADERS) {
    const hint = "the server hung up without a word, as it does when it does not trust the agent's certificate";
    throw new DrawbridgeError("DB_SERVER_HUNG_UP", `${reason.message}: ${hint}.`, { cause: reason });
  }
  throw reason;
}

function exactlyOne(what: string, value: string | readonly string[] | undefined): string {
  const values = value === undefined ? [] : [value].flat();
  if (values.length === 1) return values[0]!;
  throw new DrawbridgeError("DB_SERVER_HEADERS_MISSING", `expected one ${what}, got [${values.join(" ")}]`);
}

/** Trimmed: upstream sends a trailing newline as it is, and then no header value is valid. */
function readToken(file: string): string {
  const token = wrapErrors("DB_TOKEN_FILE", `${file} cannot be read`, () => readFileSync(file, "utf8").trim());
  if (token === "" || /[^\x21-\x7e]/.test(token)) {
    throw new DrawbridgeError("DB_TOKEN_FILE", `${file} holds no token.`);
  }
  return token;
}

/** The variables that name a proxy: HTTPS_PROXY and NO_PROXY, in either case. */
export type ProxyEnvironment = Readonly<Record<string, string | undefined>>;

const NO_ANSWER = "no answer in time";

/** gRPC gives a connection attempt at least this long. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * A TLS connection to a proxy-server's agent port, through the proxy of the environment where one is set. Certificates are
 * read again for every connection, so replaced files are used without a restart.
 */
export async function connectToServer(
  server: { readonly host: string; readonly port: number },
  files: AgentConfig["tls"],
  env: ProxyEnvironment,
  resolver: Resolver,
): Promise<TLSSocket> {
  const certificates = readCertificateSet(files);
  const reach: Reach = { resolver, deadline: AbortSignal.timeout(CONNECT_TIMEOUT_MS) };
  const proxy = proxyFor(server, env);
  const socket = proxy === undefined ? await dial(server, reach) : await dialThrough(proxy, server, reach);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 15_000);
  const secured = tls.connect({
    ...certificates,
    socket,
    host: server.host,
    // An address is checked against the certificate's addresses; only names are sent as SNI.
    ...(isIP(server.host) === 0 ? { servername: server.host } : {}),
    minVersion: "TLSv1.2",
    ALPNProtocols: [...files.alpn, "h2"],
  });
  const where = describe(server);
  await settle(secured, "secureConnect", where, reach.deadline);
  if (secured.alpnProtocol) return secured;
  secured.destroy();
  throw new Error(`${where} offers no HTTP/2 (ALPN negotiated nothing); is this the proxy-server's agent port?`);
}

function proxyFor(server: { host: string; port: number }, env: ProxyEnvironment): URL | undefined {
  // Go takes the first that is not empty.
  const text = env.HTTPS_PROXY || env.https_proxy || "";
  if (text === "" || bypassesProxy(env.NO_PROXY || env.no_proxy || "", server.host, server.port)) return undefined;
  return new URL(text.includes("://") ? text : `http://${text}`);
}

interface Reach {
  readonly resolver: Resolver;
  readonly deadline: AbortSignal;
}

async function dial(where: { host: string; port: number }, { resolver, deadline }: Reach): Promise<Socket> {
  const host = parseHost(where.host);
  if (host === undefined) throw new Error(`cannot connect to ${describe(where)}: ${NOT_A_HOST}`);
  let addresses: readonly string[];
  try {
    addresses = host.kind === "address" ? [host.text] : await resolver.find(host.text, deadline);
  } catch (cause) {
    const why = deadline.aborted ? NO_ANSWER : messageOf(cause);
    throw new Error(`cannot connect to ${describe(where)}: ${why}`, { cause });
  }
  // Node tries them one after the other.
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const socket = net.connect({
    host: where.host,
    port: where.port,
    autoSelectFamily: true,
    lookup: (_host, _options, done) => done(null, found),
  });
  return await settle(socket, "connect", describe(where), deadline);
}

/** Asks an HTTP proxy for a connection to the server. */
async function dialThrough(proxy: URL, server: { host: string; port: number }, reach: Reach): Promise<Socket> {
  const { deadline } = reach;
  const at = {
    host: proxy.hostname.replace(/^\[|\]$/g, ""),
    port: Number(proxy.port || (proxy.protocol === "https:" ? 443 : 80)),
  };
  const plain = await dial(at, reach);
  const socket =
    proxy.protocol === "https:"
      ? await settle(tls.connect({ socket: plain, servername: at.host }), "secureConnect", describe(at), deadline)
      : plain;
  const target = describe(server);
  const login = proxyLogin(proxy)["proxy-authorization"];
  const authorization = login === undefined ? "" : `Proxy-Authorization: ${login}\r\n`;
  const where = `the proxy ${describe(at)}`;
  try {
    const exchange = {
      request: `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`,
      maxBodyBytes: 0,
      malformed: () => new Error(`${where} does not answer in HTTP/1`),
      lost: (why: unknown) => new Error(`${where} did not answer: ${messageOf(why)}`),
    };
    const refusal = await exchangeConnect(socket, exchange, deadline);
    if (refusal === undefined) return socket;
    const { status } = refusal;
    throw new Error(`${where} did not connect to ${target}: ${status} ${STATUS_CODES[status] ?? ""}`.trimEnd());
  } catch (reason) {
    socket.destroy();
    throw deadline.aborted ? new Error(`${where} did not answer in time`) : reason;
  }
}

async function settle<T extends Socket>(
  socket: T,
  event: "connect" | "secureConnect",
  where: string,
  deadline: AbortSignal,
): Promise<T> {
  const failure = (why: unknown): Error => new Error(`cannot connect to ${where}: ${messageOf(why)}`, { cause: why });
  try {
    return await connected(socket, event, deadline, failure);
  } catch (reason) {
    throw deadline.aborted ? failure(NO_ANSWER) : reason;
  }
}

function describe({ host, port }: { host: string; port: number }): string {
  return joinHostPort(host, port);
}

/** Upstream's server takes pings that are less than 30 s apart for abuse and hangs up after three. */
const SAFE_PING_MS = 31_000;
const FASTEST_PING_MS = 10_000;
/** A dead server is noticed within this and the 20 s a ping may take, whatever --keepalive-time says. */
const SLOWEST_PING_MS = 35_000;

/** How often to ping a server, given --keepalive-time and whether it is a drawbridge. */
export function pingInterval(configuredMs: number, extended: boolean): number {
  return Math.min(SLOWEST_PING_MS, Math.max(configuredMs, extended ? FASTEST_PING_MS : SAFE_PING_MS));
}

/** When the certificate in the file ends; undefined while the file cannot be read, which the next attempt reports. */
export function certificateEnd(certFile: string): Date | undefined {
  try {
    return new Date(leafIn(readFileSync(certFile, "utf8")).validTo);
  } catch {
    return undefined;
  }
}

/**
 * Why no server is asked now; undefined while there is a reason to try. An agent whose certificate has ended is not admitted
 * any more, so a time-boxed one waits for a new certificate; it does not exit, since whatever runs it would start it again.
 */
export function pauseReason(certFile: string, now: number = Date.now()): string | undefined {
  const end = certificateEnd(certFile);
  if (end === undefined || end.getTime() > now) return undefined;
  return `this agent's certificate ended at ${end.toISOString()}; it waits until ${certFile} holds a new one`;
}
