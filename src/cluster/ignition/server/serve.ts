/** The Ignition server: HTTPS, one page, a token for every payload. */
import type { IncomingMessage } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { joinHostPort } from "../../../base/address.js";
import { connectionOf } from "../../../base/connection.js";
import { listenOn } from "../../../base/listen.js";
import type { CertificateSet } from "../../../tunnel/pki/reload.js";
import { sendVerdict } from "./answer.js";
import type { CertificateSource } from "./certificates.js";
import { type Claimed, type FetchRecorder, RefusalLimit, type Served } from "./fetches.js";
import type { TokenBook } from "./token-book.js";
import { judge, type Verdict } from "./verdict.js";

export interface IgnitionServerConfig {
  /** Empty: all interfaces. */
  readonly host: string;
  readonly port: number;
  readonly certificates: CertificateSource;
}

export interface IgnitionServerParts {
  readonly book: TokenBook;
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
type About = Pick<Served, "at" | "remote" | "claimed">;

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

  function recordRefusal(verdict: Verdict, about: About): void {
    if (verdict.kind !== "unauthorized" && verdict.kind !== "unknown-token") return;
    const why = verdict.kind === "unauthorized" ? verdict.why : "Token not found in cache";
    if (limit.allows(about.remote, about.at)) recorder.turnedAway({ ...about, why });
  }

  function recordPayload(verdict: Verdict, about: About): void {
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
