/** A proxy-server's front door, as a program that wants to go through it describes it. */

import { joinHostPort } from "../../base/address.js";
import { type CertificateSet, readCertificateSet } from "../pki/certificate-set.js";

/** What the door expects: `HTTPConnect` and `GRPC` in kube-apiserver's egress selector. */
export type FrontendProtocol = "http-connect" | "grpc";

export type Frontend =
  | { readonly mode: FrontendProtocol; readonly uds: string }
  | { readonly mode: FrontendProtocol; readonly host: string; readonly port: number; readonly tls: FrontendTls };

/** PEM texts, or files with them that are read again when they were replaced; a file wins over a text. */
export interface FrontendTls {
  /** Who signed the server's certificate; neither: the system's authorities. */
  readonly ca?: string;
  readonly caFile?: string;
  /** Our own certificate with its key, for servers that ask for one. */
  readonly cert?: string;
  readonly certFile?: string;
  readonly key?: string;
  readonly keyFile?: string;
  /** The name in the server's certificate, when `host` is not it. */
  readonly servername?: string;
}

/** Where the door is, for people. */
export function describeFrontend(frontend: Frontend): string {
  return "uds" in frontend ? frontend.uds : joinHostPort(frontend.host, frontend.port);
}

/** Throws a DrawbridgeError that names the file at fault. */
export function certificatesOf({ ca, cert, key, ...files }: FrontendTls): CertificateSet {
  const texts = { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }) };
  return { ...texts, ...(key === undefined ? {} : { key }), ...readCertificateSet(files) };
}
