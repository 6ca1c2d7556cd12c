/** One attempt to connect to a proxy-server: TLS, HTTP/2, the Connect call, its headers. */
import { readFileSync } from "node:fs";
import { STATUS_CODES } from "node:http";
import { isIP, type LookupFunction, type Socket } from "node:net";
import { createSecureContext } from "node:tls";
import { joinHostPort } from "../../base/address.js";
import { deadlineIn } from "../../base/clock.js";
import { DrawbridgeError, messageOf, wrapErrors } from "../../base/errors/error.js";
import { proxyLogin } from "../../base/http-connect.js";
import { type Runtime, systemRuntime } from "../../base/runtime.js";
import { exchangeConnect } from "../client/connect-dial.js";
import {
  connectedHeader,
  FEATURES_KEY,
  type Features,
  featureHeader,
  featuresIn,
  SEARCHERS_KEY,
  searchersIn,
} from "../link/features.js";
import { GrpcStatus } from "../link/grpc-status.js";
import {
  CallError,
  ENDED_BEFORE_HEADERS,
  openSession,
  responseHeaders,
  type Session,
  type Stream,
} from "../link/open.js";
import { firstBytes } from "../outgoing/connected.js";
import { type EnvironmentProxy, environmentProxy, type ProxyEnvironment } from "../outgoing/environment-proxy.js";
import {
  alertIn,
  connectTimeout,
  explainConnect,
  explainEnd,
  explainProxy,
  explainSession,
  explainWrongPort,
} from "../outgoing/explain.js";
import type { Credentials, DialFacts } from "../outgoing/facts.js";
import { secureInTime, tcpInTime } from "../outgoing/in-time.js";
import type { Secured } from "../outgoing/secure.js";
import { readCertificateSet } from "../pki/certificate-set.js";
import { leafIn } from "../pki/pem.js";
import type { Lookups } from "../resolver/resolver.js";
import { NOT_A_HOST, parseHost } from "../wire/destination.js";
import type { AgentConfig } from "./config.js";

type ServerAddress = AgentConfig["servers"][number];

export interface ServerConnection {
  readonly session: Session;
  readonly stream: Stream;
  readonly serverId: string;
  readonly serverCount: number;
  readonly features: Features;
  /** How many agents share the search for servers, as the server says; undefined if it does not. */
  readonly searchers: number | undefined;
}

export interface ConnectParts {
  /** What servers see as its user agent. */
  readonly program: string;
  readonly runtime: Runtime;
  /** Opens the connection that the Connect call is made on. */
  readonly reach: (server: ServerAddress) => Promise<Secured>;
  readonly features: Features;
  /** Default: what the configured file holds. */
  readonly token?: (() => string | undefined) | undefined;
}

export async function connectOnce(
  config: AgentConfig,
  server: ServerAddress,
  /** The IDs of servers that are connected: one of them only answers with its headers. */
  connected: readonly string[],
  { program, runtime, reach, features, token: tokenOf = () => readToken(config.tokenFile) }: ConnectParts,
): Promise<ServerConnection> {
  const token = tokenOf();
  const { socket, facts } = await reach(server);
  let ended: Error | undefined;
  socket.once("error", (error) => {
    ended = error;
  });
  await firstBytes(socket, FIRST_BYTES_MS, runtime);
  // An alert is an error before the socket has ended.
  if (ended !== undefined || socket.destroyed || socket.readableEnded) {
    socket.destroy();
    throw explainEnd(ended, facts());
  }
  const authority = config.tls.certFile === "" ? joinHostPort(server.host, server.port) : server.host;
  const { session, call } = openSession(socket, bracketed(authority), "https", program, runtime);
  try {
    const stream = call("/AgentService/Connect", {
      agentid: config.agentId,
      agentidentifiers: config.identifiers,
      ...featureHeader(features),
      ...connectedHeader(connected),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    });
    const headers = await responseHeaders(stream, config.headerTimeoutMs).catch((reason: unknown) => {
      throw explainHeaders(reason, session, facts(), token !== undefined);
    });
    // The end may come with the headers, and nobody would be told of it later.
    if (stream.closed) throw explainSession(session, facts());
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
      searchers: searchersIn(headers[SEARCHERS_KEY]),
    };
  } catch (error) {
    session.destroy();
    throw error;
  }
}

/** HTTP/2 servers speak first; those that do not get our first bytes after this. */
const FIRST_BYTES_MS = 300;

function bracketed(authority: string): string {
  return /^[0-9a-f:]*:[0-9a-f:]*:[0-9a-f:.]*$/i.test(authority) ? `[${authority}]` : authority;
}

/** Why there are no headers: what the server said in its status, its GOAWAY or its alert, or that it said nothing. */
function explainHeaders(reason: unknown, session: Session, facts: DialFacts, hasToken: boolean): unknown {
  if (!(reason instanceof CallError)) return reason;
  const { status, message } = reason;
  if (status === GrpcStatus.DEADLINE_EXCEEDED) {
    const sentence = `the server at ${facts.where} did not answer Connect: ${message}.`;
    return new DrawbridgeError("DB_SERVER_HEADERS_TIMEOUT", sentence, { cause: reason });
  }
  if (status === GrpcStatus.UNIMPLEMENTED) return explainWrongPort(message, facts, reason);
  if (hasToken) {
    const answer = explainTokenAnswer(message, session, facts);
    if (answer !== undefined) return new DrawbridgeError(answer.code, `${answer.sentence}.`, { cause: reason });
  }
  return message.startsWith(ENDED_BEFORE_HEADERS) ? explainSession(session, facts) : reason;
}

/** What became of a token that was sent; undefined: the failure is not about it. */
function explainTokenAnswer(message: string, session: Session, { where, own }: DialFacts) {
  const refusal = /Failed to validate authentication token, err:\s*(.*)/s.exec(message)?.[1];
  if (refusal !== undefined) {
    const isUnreviewed = /^(Failed to authenticate request|there was no review|too many tokens wait)/.test(refusal);
    return isUnreviewed
      ? ({
          code: "DB_TOKEN_REVIEW",
          sentence: `the server at ${where} could not have this agent's token reviewed: ${message}`,
        } as const)
      : ({
          code: "DB_AGENT_TOKEN",
          sentence: `the server at ${where} refused this agent's token: ${message}`,
        } as const);
  }
  const isSilent =
    session.goawayText === "" && session.failure === undefined && alertIn(session.transportError) === undefined;
  if (!message.startsWith(ENDED_BEFORE_HEADERS) || !isSilent || own.length > 0) return undefined;
  const likely = "it stopped, or the Kubernetes API, which reviews tokens for it, did not answer";
  const sentence = `the server at ${where} got this agent's token and hung up without an answer to it: ${likely}`;
  return { code: "DB_TOKEN_REVIEW", sentence } as const;
}

function exactlyOne(what: string, value: string | readonly string[] | undefined): string {
  const values = value === undefined ? [] : [value].flat();
  if (values.length === 1) return values[0]!;
  throw new DrawbridgeError("DB_SERVER_HEADERS_MISSING", `expected one ${what}, got [${values.join(" ")}]`);
}

/** Of no file there is none. Trimmed: upstream sends a trailing newline as it is, and then no header value is valid. */
function readToken(file: string): string | undefined {
  if (file === "") return undefined;
  const token = wrapErrors("DB_TOKEN_FILE", `${file} cannot be read`, () => readFileSync(file, "utf8").trim());
  if (token === "" || /[^\x21-\x7e]/.test(token)) {
    throw new DrawbridgeError("DB_TOKEN_FILE", `${file} holds no token.`);
  }
  return token;
}

/** gRPC gives a connection attempt at least this long. */
const CONNECT_TIMEOUT_MS = 20_000;

/**
 * A TLS connection to a proxy-server's agent port, through the proxy of the environment where one is set. Certificates are
 * read again for every connection, so replaced files are used without a restart.
 */
export async function connectToServer(
  server: ServerAddress,
  files: AgentConfig["tls"],
  env: ProxyEnvironment,
  resolver: Lookups,
  runtime: Runtime = systemRuntime,
): Promise<Secured> {
  const credentials = credentialsOf(files);
  const { signal: deadline, cancel } = deadlineIn(runtime, CONNECT_TIMEOUT_MS);
  try {
    return await connectInTime(server, files, env, credentials, { resolver, runtime, deadline });
  } finally {
    cancel();
  }
}

async function connectInTime(
  server: ServerAddress,
  files: AgentConfig["tls"],
  env: ProxyEnvironment,
  credentials: Credentials,
  reach: Reach,
): Promise<Secured> {
  const proxy = environmentProxy(server, env);
  const where = proxy === undefined ? describe(server) : `${describe(server)} ${through(proxy)}`;
  const socket = proxy === undefined ? await dial(server, reach) : await dialThrough(proxy, server, reach);
  socket.setNoDelay(true);
  socket.setKeepAlive(true, 15_000);
  const context = createSecureContext({ ...credentials.set, minVersion: "TLSv1.2" });
  const alpn = [...files.alpn, "h2"];
  const secured = await secureInTime(
    // A zone is this host's own word; certificates are for addresses without one.
    { socket, where, name: server.host.replace(/%.*$/, ""), context, alpn, credentials: () => credentials },
    reach.deadline,
  );
  if (secured.socket.alpnProtocol) return secured;
  secured.socket.destroy();
  throw explainWrongPort(
    "it took none of the protocols that were offered to it by ALPN, h2 (HTTP/2) among them",
    secured.facts(),
  );
}

/** What this agent shows to servers and trusts. Throws a DrawbridgeError that names the file at fault. */
export function credentialsOf(files: AgentConfig["tls"]): Credentials {
  const { certFile, caFile } = files;
  const mistakenFor = "a frontend, or another program's";
  const set = readCertificateSet(files);
  return { self: "this agent", set, certFile, caFile, admittedBy: "--cluster-ca-cert", mistakenFor };
}

/** Without the login. */
const through = ({ url, variable }: EnvironmentProxy): string =>
  `through the proxy ${url.protocol}//${url.host} of ${variable}`;

interface Reach {
  readonly resolver: Lookups;
  readonly runtime: Runtime;
  readonly deadline: AbortSignal;
}

/** `name` is what errors call it. */
async function dial(
  where: { host: string; port: number },
  { resolver, runtime, deadline }: Reach,
  name = describe(where),
): Promise<Socket> {
  const host = parseHost(where.host);
  if (host === undefined) throw new Error(`cannot connect to ${name}: ${NOT_A_HOST}`);
  const addresses =
    host.kind === "address"
      ? [host.text]
      : await resolver.find(host.text, deadline).catch((why: unknown) => {
          throw deadline.aborted ? connectTimeout(name, CONNECT_TIMEOUT_MS) : explainConnect(name, why);
        });
  // Node tries them one after the other.
  const found = addresses.map((address) => ({ address, family: isIP(address) }));
  const lookup: LookupFunction = (_host, _options, done) => done(null, found);
  return await tcpInTime({ ...where, autoSelectFamily: true, lookup }, name, deadline, CONNECT_TIMEOUT_MS, runtime);
}

/** Asks an HTTP proxy for a connection to the server. */
async function dialThrough(
  proxy: EnvironmentProxy,
  server: { host: string; port: number },
  reach: Reach,
): Promise<Socket> {
  const { url, variable } = proxy;
  const { deadline } = reach;
  const at = {
    host: url.hostname.replace(/^\[|\]$/g, ""),
    port: Number(url.port || (url.protocol === "https:" ? 443 : 80)),
  };
  const target = describe(server);
  const login = proxyLogin(url)["proxy-authorization"];
  const authorization = login === undefined ? "" : `Proxy-Authorization: ${login}\r\n`;
  const where = `${target} ${through(proxy)}`;
  let socket: Socket | undefined;
  try {
    const plain = await dial(at, reach, where);
    socket = url.protocol === "https:" ? await secureToProxy(plain, at, reach) : plain;
    const exchange = {
      request: `CONNECT ${target} HTTP/1.1\r\nHost: ${target}\r\n${authorization}\r\n`,
      maxBodyBytes: 0,
      malformed: () => new Error("it does not answer in HTTP/1"),
      lost: (why: unknown) => new Error(`it did not answer: ${messageOf(why)}`),
    };
    const refusal = await exchangeConnect(socket, exchange, deadline);
    if (refusal === undefined) return socket;
    const status = `${refusal.status} ${STATUS_CODES[refusal.status] ?? ""}`.trimEnd();
    if (refusal.status !== 407) throw new Error(`it answered ${status}`);
    throw new Error(
      login === undefined ? `it wants a login (${status})` : `it does not accept the login of ${variable} (${status})`,
    );
  } catch (reason) {
    socket?.destroy();
    throw explainProxy(where, socket !== undefined && deadline.aborted ? "it did not answer in time" : reason);
  }
}

async function secureToProxy(socket: Socket, at: { host: string; port: number }, reach: Reach): Promise<Socket> {
  const context = createSecureContext();
  const credentials = () => ({ self: "this agent", set: {}, admittedBy: "authorities" });
  return (await secureInTime({ socket, where: describe(at), name: at.host, context, credentials }, reach.deadline))
    .socket;
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
export function pauseReason(certFile: string, now: number): string | undefined {
  const end = certificateEnd(certFile);
  if (end === undefined || end.getTime() > now) return undefined;
  return `this agent's certificate ended at ${end.toISOString()}; it waits until ${certFile} holds a new one`;
}
