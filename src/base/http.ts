/** Small HTTP servers for health and admin: exact paths, Go's answers for everything else, a prompt end. */
import { createServer, type IncomingMessage, type RequestListener, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { SecureContextOptions, TLSSocket } from "node:tls";
import { joinHostPort } from "./address.js";
import type { DrawbridgeError } from "./errors/error.js";
import { answerBody } from "./http-get.js";
import { listenOn } from "./listen.js";

export interface Endpoint {
  /** Empty: all interfaces. */
  readonly host: string;
  /** 0: any free port. */
  readonly port: number;
}

export interface HttpRequest {
  readonly message: IncomingMessage;
  readonly path: string;
  readonly query: URLSearchParams;
  /** The query as it came, with its question mark, or empty. */
  readonly rawQuery: string;
}

export type Route = (request: HttpRequest, response: ServerResponse) => void | Promise<void>;

export interface Routes {
  readonly exact: ReadonlyMap<string, Route>;
  /** Tried in order when no exact path fits. */
  readonly prefixes?: readonly (readonly [prefix: string, route: Route])[];
}

/** A certificate with its key that may be replaced while the server runs; begins to follow it. */
export type HttpTls = (events: {
  readonly onChange: (next: CertificateAndKey) => void;
  readonly onProblem: (error: DrawbridgeError) => void;
  readonly onRecovery?: () => void;
}) => { readonly current: CertificateAndKey; close(): void };

/** Told of connections whose handshake failed. */
export type BrokenTls = (error: NodeJS.ErrnoException, socket: TLSSocket) => void;

/** PEM texts. */
export type CertificateAndKey = Pick<SecureContextOptions, "cert" | "key">;

export interface RunningHttp {
  readonly port: number;
  /** `host:port` as it was bound. */
  readonly address: string;
  /** Answers in progress get half a second, then every connection is closed. */
  close(): Promise<void>;
}

/** Upstream takes a megabyte; whoever asks for health or metrics sends a few hundred bytes. */
const MAX_HEADER_BYTES = 16 * 1024;
/** Upstream's. */
const HEADER_TIMEOUT_MS = 60_000;
/** Probes, scrapers and people; the oldest without a request is closed for a new one. */
const MAX_CONNECTIONS = 256;
/** Ours: long enough for a scraper to keep its connection between two scrapes. */
const KEEP_ALIVE_MS = 75_000;
const CLOSE_GRACE_MS = 500;

export async function startHttp(
  what: string,
  endpoint: Endpoint,
  routes: Routes,
  tls?: HttpTls,
  onBrokenTls?: BrokenTls,
): Promise<RunningHttp> {
  const limits = {
    maxHeaderSize: MAX_HEADER_BYTES,
    headersTimeout: HEADER_TIMEOUT_MS,
    requestTimeout: 2 * HEADER_TIMEOUT_MS,
  };
  const onRequest = (message: IncomingMessage, response: ServerResponse): void => {
    void answer(routes, message, response);
  };
  const server =
    tls === undefined ? createServer(limits, onRequest) : await secure(tls, limits, onRequest, onBrokenTls);
  server.keepAliveTimeout = KEEP_ALIVE_MS;
  await listenOn(server, what, endpoint, { isEssential: true, maxConnections: MAX_CONNECTIONS });
  const { address, port } = server.address() as AddressInfo;
  return {
    port,
    address: joinHostPort(address, port),
    close: () => closeHttp(server, CLOSE_GRACE_MS),
  };
}

async function secure(
  tls: HttpTls,
  limits: object,
  onRequest: RequestListener,
  // A peer that does not speak TLS is no error of this server.
  onBrokenTls: BrokenTls = () => {},
): Promise<Server> {
  const https = await import("node:https");
  const least = { minVersion: "TLSv1.2" } as const;
  const followed = tls({
    onChange: (next) => server.setSecureContext({ ...least, ...next }),
    // The old one stays in use; its owner reports the problem.
    onProblem: () => {},
  });
  const server = https.createServer({ ...limits, ...least, ...followed.current }, onRequest);
  server.on("tlsClientError", onBrokenTls);
  server.once("close", () => followed.close());
  return server as unknown as Server;
}

/** Finishes the answers that are being sent; connections that linger are closed. */
export function closeHttp(server: Pick<Server, "close" | "closeAllConnections">, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
  });
}

async function answer(routes: Routes, message: IncomingMessage, response: ServerResponse): Promise<void> {
  // What a client sends along is not of interest, unless a route reads it; unread it would hold the connection.
  if (message.method !== "POST") message.resume();
  const target = message.url ?? "/";
  const cut = target.indexOf("?");
  const path = cut < 0 ? target : target.slice(0, cut);
  const rawQuery = cut < 0 ? "" : target.slice(cut);
  const route = routes.exact.get(path) ?? routes.prefixes?.find(([prefix]) => path.startsWith(prefix))?.[1] ?? notFound;
  try {
    await route({ message, path, rawQuery, query: new URLSearchParams(rawQuery) }, response);
  } catch {
    // The reason may name files and addresses; callers here are not authenticated.
    if (response.headersSent) response.destroy();
    else sendText(response, 500, "internal error\n");
  } finally {
    message.resume();
  }
}

/** The whole body as text; undefined when it has more than so many bytes, or does not come. */
export async function readBody(message: IncomingMessage, maxBytes: number): Promise<string | undefined> {
  try {
    // A client that sends too much still gets an answer.
    return (await answerBody(message.iterator({ destroyOnReturn: false }), maxBytes)).toString("utf8");
  } catch {
    return undefined;
  }
}

export function sendText(
  response: ServerResponse,
  status: number,
  body: string,
  headers: Readonly<Record<string, string>> = {},
): void {
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "Content-Length": Buffer.byteLength(body),
    ...headers,
  });
  response.end(body);
}

/** The answer of Go's ServeMux. */
export function notFound(_request: HttpRequest, response: ServerResponse): void {
  sendText(response, 404, "404 page not found\n", { "X-Content-Type-Options": "nosniff" });
}

/** A permanent redirect with Go's body, which only GET and HEAD get. */
export function redirect({ message }: HttpRequest, response: ServerResponse, location: string): void {
  const body = `<a href="${escapeHtml(location)}">Moved Permanently</a>.\n\n`;
  if (message.method === "GET" || message.method === "HEAD") {
    sendText(response, 301, body, { Location: location, "Content-Type": "text/html; charset=utf-8" });
  } else {
    response.writeHead(301, { Location: location, "Content-Length": 0 }).end();
  }
}

function escapeHtml(text: string): string {
  const entities: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&#34;", "'": "&#39;" };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? character);
}
