/** A TLS connection through the tunnel, trusted exactly as far as a kube-apiserver would trust it. */
import type { PeerCertificate } from "node:tls";
import { checkServerIdentity, connect, type TLSSocket } from "node:tls";
import { CheckFailure } from "../../../../base/check.js";
import { dialThrough } from "../../../../tunnel/client/index.js";
import { certificateBlocks } from "../../../../tunnel/pki/pem.js";
import type { Bridge } from "../bridge.js";
import { type Callee, dialFailure, tlsFailure } from "./failure.js";

export interface SecureTarget extends Callee {
  /** `host:port`. */
  readonly address: string;
  /** Base64 of PEM, as in the API; empty: the system's authorities. */
  readonly caBundle: string;
  /** Aggregated APIs may ask for this. */
  readonly unverified?: boolean;
}

export interface SecureConnection {
  readonly socket: TLSSocket;
  readonly dialMs: number;
  readonly tlsMs: number;
}

/** Rejects with a CheckFailure; when the signal fired, with whatever was under way. */
export async function connectSecurely(
  bridge: Bridge,
  target: SecureTarget,
  signal: AbortSignal,
): Promise<SecureConnection> {
  const ca = authorityOf(target);
  const began = performance.now();
  const tunnel = await dialThrough(bridge.frontend, target.address, { signal }).catch((reason) => {
    throw dialFailure(bridge, target, reason);
  });
  const dialled = performance.now();
  tunnel.on("error", () => {});
  const socket = connect({
    socket: tunnel,
    ...(ca === undefined ? {} : { ca }),
    servername: `${target.service}.${target.namespace}.svc`,
    minVersion: "TLSv1.2",
    ALPNProtocols: ["http/1.1"],
    rejectUnauthorized: target.unverified !== true,
    // Go trusts every certificate of a bundle as it is, also one that signed itself and no other.
    allowPartialTrustChain: true,
    checkServerIdentity: identify,
  });
  try {
    await secured(socket, signal);
  } catch (reason) {
    socket.destroy();
    tunnel.destroy();
    throw signal.aborted ? reason : tlsFailure(target, reason);
  }
  return { socket, dialMs: dialled - began, tlsMs: performance.now() - dialled };
}

function authorityOf({ caBundle, authority }: SecureTarget): string[] | undefined {
  if (caBundle === "") return undefined;
  const found = certificateBlocks(Buffer.from(caBundle, "base64").toString("latin1"));
  if (found.length > 0) return found.map(({ text }) => text);
  throw new CheckFailure(
    "its caBundle holds no PEM certificate",
    `Put PEM certificates, base64-encoded once, into ${authority}.`,
  );
}

/** Node still looks at the common name where no DNS name is given; Go does not. */
function identify(host: string, certificate: PeerCertificate): Error | undefined {
  if (certificate.subjectaltname?.includes("DNS:")) return checkServerIdentity(host, certificate);
  const reason = "it has no DNS name, and the common name does not count";
  return Object.assign(new Error(reason), { code: "ERR_TLS_CERT_ALTNAME_INVALID", reason });
}

function secured(socket: TLSSocket, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const stop = (): void => reject(signal.reason);
    if (signal.aborted) stop();
    signal.addEventListener("abort", stop);
    socket.on("error", reject);
    socket.once("secureConnect", () => resolve());
    socket.once("close", () => reject(new Error("it hung up")));
    socket.once("close", () => signal.removeEventListener("abort", stop));
  });
}
