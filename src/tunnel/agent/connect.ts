/** One attempt to connect to a proxy-server: TLS, HTTP/2, the Connect call, its headers. */
import { readFileSync } from "node:fs";
import { joinHostPort } from "../../base/address.js";
import { DrawbridgeError, messageOf } from "../../base/errors/error.js";
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
import type { Resolver } from "../resolver/resolver.js";
import type { AgentConfig } from "./config.js";
import { connectToServer, type Environment } from "./server-socket.js";

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
  env: Environment = process.env,
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
    return {
      session,
      stream,
      serverId: exactlyOne("server ID in the context", headers.serverid),
      serverCount: readCount(headers.servercount),
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

function readCount(value: string | readonly string[] | undefined): number {
  const text = exactlyOne("server count", value);
  if (/^[+-]?\d+$/.test(text)) return Number(text);
  throw new DrawbridgeError("DB_SERVER_HEADERS_MISSING", `the server count ${JSON.stringify(text)} is not a number`);
}

/** Trimmed: upstream sends a trailing newline as it is, and then no header value is valid. */
function readToken(file: string): string {
  let token: string;
  try {
    token = readFileSync(file, "utf8").trim();
  } catch (cause) {
    throw new DrawbridgeError("DB_TOKEN_FILE", `${file} cannot be read: ${messageOf(cause)}.`, { cause });
  }
  if (token === "" || /[^\x21-\x7e]/.test(token)) {
    throw new DrawbridgeError("DB_TOKEN_FILE", `${file} holds no token.`);
  }
  return token;
}
