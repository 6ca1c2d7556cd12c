/** The Ignition server: HTTPS, one page, a token for every payload. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { connectionOf } from "../../../base/connection.js";
import { listenOn } from "../../../base/listen.js";
import {
  CertificateFiles,
  type CertificatePaths,
  type CertificateSet,
  type ReloadOptions,
} from "../../../tunnel/pki/certificate-set.js";
import { type Claimed, type FetchRecorder, RefusalLimit, type ServedFetch } from "./fetches.js";
import type { Grant, Payload, TokenStore } from "./tokens.js";

export interface IgnitionServerConfig {
  /** Empty: all interfaces. */
  readonly host: string;
  readonly port: number;
  readonly certificates: CertificateSource;
}

export interface IgnitionServerParts {
  readonly book: TokenStore;
  readonly recorder: FetchRecorder;
  readonly now?: () => number;
}

export interface RunningIgnitionServer {
  readonly port: number;
  readonly address: string;
  /** In force now. */
  certificate(): CertificateSet;
  close(): Promise<void>;
}

/** What is known of a request whatever becomes of it. */
type About = Pick<ServedFetch, "at" | "remote" | "claimed">;

/** With TLS 1.2 only these; what TLS 1.3 has is of the same kind. */
const AEAD_SUITES = [
  "ECDHE-ECDSA-AES128-GCM-SHA256",
  "ECDHE-RSA-AES128-GCM-SHA256",
  "ECDHE-ECDSA-AES256-GCM-SHA384",
  "ECDHE-RSA-AES256-GCM-SHA384",
  "ECDHE-ECDSA-CHACHA20-POLY1305",
  "ECDHE-RSA-CHACHA20-POLY1305",
].join(":");

/** A request has no body to speak of. */
const REQUEST_TIMEOUT_MS = 5_000;
/** How long a machine may take nothing of its answer. */
const IDLE_TIMEOUT_MS = 10_000;
const KEEP_ALIVE_MS = 5_000;
const MAX_HEADER_BYTES = 16 * 1024;
/** A whole data centre at once, and an end to it. */
const MAX_CONNECTIONS = 10_000;
const CLOSE_GRACE_MS = 10_000;

export async function startIgnitionServer(
  config: IgnitionServerConfig,
  { book, recorder, now = Date.now }: IgnitionServerParts,
): Promise<RunningIgnitionServer> {
  const tls = { minVersion: "TLSv1.2" as const, ciphers: AEAD_SUITES, honorCipherOrder: true };
  // Connections that are open keep the certificate they began with.
  const certificate = config.certificates((set) => server.setSecureContext({ ...tls, ...set }));
  const limit = new RefusalLimit();
  const server = createServer(
    {
      ...tls,
      ...certificate.current,
      ALPNProtocols: ["http/1.1"],
      maxHeaderSize: MAX_HEADER_BYTES,
      headersTimeout: REQUEST_TIMEOUT_MS,
      requestTimeout: REQUEST_TIMEOUT_MS,
      keepAliveTimeout: KEEP_ALIVE_MS,
    },
    (request, response) => {
      request.resume();
      const verdict = judge({ target: request.url ?? "/", authorization: request.headers.authorization }, book);
      const about = { at: now(), remote: connectionOf(request.socket)?.remoteHost ?? "", claimed: claimedBy(request) };
      recordRefusal(verdict, about);
      sendVerdict(verdict, request, response, () => recordPayload(verdict, about));
    },
  );
  server.timeout = IDLE_TIMEOUT_MS;
  // A handshake that fails is the machine's business; unheard it would end the process.
  server.on("tlsClientError", () => {});

  function recordRefusal(verdict: FetchVerdict, about: About): void {
    if (verdict.kind !== "unauthorized" && verdict.kind !== "unknown-token") return;
    const why = verdict.kind === "unauthorized" ? verdict.why : "Token not found in cache";
    if (limit.allows(about.remote, about.at)) recorder.refused({ ...about, why });
  }

  function recordPayload(verdict: FetchVerdict, about: About): void {
    if (verdict.kind !== "payload") return;
    const { pool, secret, worker } = verdict.grant;
    recorder.served({ ...about, pool, secret, ...(worker === undefined ? {} : { worker }) });
  }

  const { host } = config;
  await listenOn(server, "ignition", { host, port: config.port }, { maxConnections: MAX_CONNECTIONS });
  const { address, port } = server.address() as AddressInfo;
  return {
    port,
    address: joinHostPort(address, port),
    certificate: () => certificate.current,
    close: async () => {
      certificate.close();
      await close(server);
    },
  };
}

function claimedBy({ headers }: IncomingMessage): Claimed {
  const pool = headers.nodepool;
  const version = headers.targetconfigversionhash;
  return {
    ...(typeof pool === "string" ? { pool } : {}),
    ...(typeof version === "string" ? { targetConfigVersion: version } : {}),
  };
}

/** Answers under way are finished; machines that linger are sent away. */
function close(server: Server): Promise<void> {
  return new Promise((resolve) => {
    const force = setTimeout(() => server.closeAllConnections(), CLOSE_GRACE_MS);
    server.close(() => {
      clearTimeout(force);
      resolve();
    });
    server.closeIdleConnections();
  });
}

// A verdict as an HTTP answer. Bodies are HyperShift's, byte for byte.

/** Calls `onPayloadSent` once a whole payload has left: not for HEAD and 304, and not when the machine hangs up midway. */
function sendVerdict(
  verdict: FetchVerdict,
  request: IncomingMessage,
  response: ServerResponse,
  onPayloadSent: () => void,
): void {
  if (verdict.kind === "healthy") response.writeHead(200, { "Content-Length": 0 }).end();
  else if (verdict.kind === "payload") sendPayload(verdict.payload, request, response, onPayloadSent);
  else {
    const [status, text] = REFUSALS[verdict.kind];
    sendError(response, status, text);
  }
}

const REFUSALS = {
  malformed: [400, "Bad Request"],
  "no-such-page": [404, "404 page not found"],
  unauthorized: [401, "Unauthorized"],
  // Ignition asks again after every 5xx; this one is not mistaken for a broken server.
  "unknown-token": [511, "Token not found"],
  "unusable-payload": [500, "Invalid ignition payload"],
} as const;

function sendError(response: ServerResponse, status: number, text: string): void {
  const body = `${text}\n`;
  response.writeHead(status, {
    "Content-Type": "text/plain; charset=utf-8",
    "X-Content-Type-Options": "nosniff",
    "Content-Length": Buffer.byteLength(body),
  });
  response.end(body);
}

function sendPayload(payload: Payload, request: IncomingMessage, response: ServerResponse, onSent: () => void): void {
  const { etag } = payload;
  const common = { ETag: etag, "Cache-Control": "no-store", Vary: "Accept-Encoding" };
  if (request.headers["if-none-match"] === etag) {
    response.writeHead(304, common).end();
    return;
  }
  const gzip = takesGzip(request.headers["accept-encoding"]);
  const pieces = gzip ? [payload.compressed] : payload.pieces;
  response.writeHead(200, {
    ...common,
    "Content-Type": "application/json; charset=utf-8",
    "Content-Length": gzip ? payload.compressed.length : payload.length,
    ...(gzip ? { "Content-Encoding": "gzip" } : {}),
  });
  if (request.method !== "HEAD") {
    let left = pieces.length;
    // Node also calls back, and emits "finish", when the connection is closed before everything was sent.
    const onWritten = (error?: Error | null): void => {
      if (!error && !request.socket.destroyed && --left === 0) onSent();
    };
    for (const piece of pieces) response.write(piece, onWritten);
  }
  response.end();
}

function takesGzip(accepted: string | string[] | undefined): boolean {
  return [accepted ?? []]
    .flat()
    .flatMap((line) => line.split(","))
    .some((coding) => /^\s*gzip\s*(;\s*q=(?!0(\.0*)?\s*$).*)?$/i.test(coding));
}

// Where a server's certificate comes from while it runs.

/** The one to begin with, and every later one as it comes. */
export type CertificateSource = (onChange: (set: CertificateSet) => void) => FollowedCertificate;

interface FollowedCertificate {
  readonly current: CertificateSet;
  close(): void;
}

export function certificateInFiles(
  paths: Required<Pick<CertificatePaths, "certFile" | "keyFile">>,
  reload: Omit<ReloadOptions, "onChange"> = {},
): CertificateSource {
  return (onChange) => new CertificateFiles(paths, { ...reload, onChange });
}

// What a request deserves. The order of the checks and every status are HyperShift's: machines depend on them.

interface AskedFor {
  /** As it came, with its query. */
  readonly target: string;
  readonly authorization: string | undefined;
}

type FetchVerdict =
  | { readonly kind: "healthy" }
  | { readonly kind: "no-such-page" | "malformed" }
  /** The machine gives up on these: its user-data is wrong, and time does not mend it. */
  | { readonly kind: "unauthorized"; readonly why: "Bad header" | "Token invalid" }
  /** The machine asks again: the payload may not be ready yet. */
  | { readonly kind: "unknown-token" }
  | { readonly kind: "unusable-payload" }
  | { readonly kind: "payload"; readonly grant: Grant; readonly payload: Payload };

const BEARER = "Bearer ";

function judge({ target, authorization }: AskedFor, book: TokenStore): FetchVerdict {
  const path = pathOf(target);
  if (path === undefined) return { kind: "malformed" };
  if (path === "/healthz") return { kind: "healthy" };
  if (!/^\/ignition[^/ ]*$/.test(path)) return { kind: "no-such-page" };
  if (authorization === undefined || !authorization.startsWith(BEARER)) {
    return { kind: "unauthorized", why: "Bad header" };
  }
  const token = decodeBase64(authorization.slice(BEARER.length));
  if (token === undefined) return { kind: "unauthorized", why: "Token invalid" };
  const grant = book.find(token);
  if (grant === undefined) return { kind: "unknown-token" };
  const payload = grant.payload();
  return payload.usable ? { kind: "payload", grant, payload } : { kind: "unusable-payload" };
}

/** Without the query, percent-decoded; undefined when that is not possible. */
function pathOf(target: string): string | undefined {
  const [path = ""] = target.split("?", 1);
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}

/** Standard alphabet, padded, and nothing else: Node alone would read over anything. */
function decodeBase64(text: string): string | undefined {
  if (text.length % 4 !== 0 || !/^[A-Za-z0-9+/]*={0,2}$/.test(text)) return undefined;
  return Buffer.from(text, "base64").toString("utf8");
}
