/** The Ignition server: HTTPS, one page, a token for every payload. */
import type { IncomingMessage, ServerResponse } from "node:http";
import { createServer } from "node:https";
import type { AddressInfo } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { type Clock, systemClock } from "../../../base/clock.js";
import { connectionOf } from "../../../base/connections.js";
import { closeHttp, type Endpoint } from "../../../base/http.js";
import { listenOn } from "../../../base/listen.js";
import { CertificateFiles, type CertificatePaths, type CertificateSet } from "../../../tunnel/pki/certificate-set.js";
import type { FollowOptions } from "../../../tunnel/pki/followed-files.js";
import { type Claimed, type FetchRecorder, RefusalLimit, type RefusedFetch } from "./fetches.js";
import type { Grant, Payload, TokenStore } from "./tokens.js";

export type RunningIgnitionServer = Awaited<ReturnType<typeof startIgnitionServer>>;

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
  { certificates, ...endpoint }: Endpoint & { readonly certificates: CertificateSource },
  parts: { readonly tokens: TokenStore; readonly recorder: FetchRecorder; readonly clock?: Clock },
) {
  const { tokens, recorder, clock = systemClock } = parts;
  const tls = { minVersion: "TLSv1.2" as const, ciphers: AEAD_SUITES, honorCipherOrder: true };
  // Connections that are open keep the certificate they began with.
  const certificate = certificates((set) => server.setSecureContext({ ...tls, ...set }));
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
      const verdict = judge(request, tokens);
      const about = {
        at: clock.date(),
        remote: connectionOf(request.socket)?.remoteHost ?? "",
        claimed: claimedBy(request),
      };
      if ("payload" in verdict) {
        const { pool, secret, worker } = verdict.grant;
        const onSent = () => recorder.served({ ...about, pool, secret, worker });
        return sendPayload(verdict.payload, request, response, onSent);
      }
      const { why } = verdict;
      if (why !== undefined && limit.allows(about.remote, clock.now())) recorder.refused({ ...about, why });
      sendPage(response, verdict);
    },
  );
  server.timeout = IDLE_TIMEOUT_MS;
  // A handshake that fails is the machine's business; unheard it would end the process.
  server.on("tlsClientError", () => {});

  await listenOn(server, "ignition", endpoint, { maxConnections: MAX_CONNECTIONS });
  const { address, port } = server.address() as AddressInfo;
  return {
    port,
    address: joinHostPort(address, port),
    /** The one in force now. */
    certificate: () => certificate.current,
    close: async (): Promise<void> => {
      certificate.close();
      await closeHttp(server, CLOSE_GRACE_MS);
    },
  };
}

const claimedBy = ({ headers: { nodepool, targetconfigversionhash } }: IncomingMessage): Claimed => ({
  ...{ pool: nodepool?.toString(), targetConfigVersion: targetconfigversionhash?.toString() },
});

function sendPage(response: ServerResponse, { status, text }: FetchPage): void {
  const body = text === undefined ? "" : `${text}\n`;
  const type = { "Content-Type": "text/plain; charset=utf-8", "X-Content-Type-Options": "nosniff" };
  response.writeHead(status, { ...(body !== "" && type), "Content-Length": Buffer.byteLength(body) }).end(body);
}

/** Calls `onSent` once a whole payload has left: not for HEAD and 304, and not when the machine hangs up midway. */
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

/** Where a server's certificate comes from while it runs: the one to begin with, and every later one as it comes. */
export type CertificateSource = (onChange: (set: CertificateSet) => void) => FollowedCertificate;

interface FollowedCertificate {
  readonly current: CertificateSet;
  close(): void;
}

export function certificateInFiles(
  paths: Required<Pick<CertificatePaths, "certFile" | "keyFile">>,
  reload: Omit<FollowOptions<CertificateSet>, "onChange"> = {},
): CertificateSource {
  return (onChange) => new CertificateFiles(paths, { ...reload, onChange });
}

/** An answer without a payload; its text is HyperShift's, byte for byte. */
interface FetchPage {
  readonly status: number;
  readonly text?: string;
  /** Set where a machine that asked for a payload is refused. */
  readonly why?: RefusedFetch["why"];
}

const BEARER = "Bearer ";

/** What a request deserves. The order of the checks and every status are HyperShift's: machines depend on them. */
function judge(
  { url = "/", headers: { authorization } }: IncomingMessage,
  tokens: TokenStore,
): FetchPage | { readonly grant: Grant; readonly payload: Payload } {
  const path = pathOf(url);
  if (path === undefined) return { status: 400, text: "Bad Request" };
  if (path === "/healthz") return { status: 200 };
  if (!/^\/ignition[^/ ]*$/.test(path)) return { status: 404, text: "404 page not found" };
  // The machine gives up on 401: its user-data is wrong, and time does not mend it.
  if (!authorization?.startsWith(BEARER)) return { status: 401, text: "Unauthorized", why: "Bad header" };
  const token = decodeBase64(authorization.slice(BEARER.length));
  if (token === undefined) return { status: 401, text: "Unauthorized", why: "Token invalid" };
  const grant = tokens.find(token);
  // The machine asks again after every 5xx, as the payload may not be ready yet; this one is no broken server.
  if (grant === undefined) return { status: 511, text: "Token not found", why: "Token not found in cache" };
  const payload = grant.payload();
  return payload.usable ? { grant, payload } : { status: 500, text: "Invalid ignition payload" };
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
