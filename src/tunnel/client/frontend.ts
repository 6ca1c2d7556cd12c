/** A proxy-server's frontend as a program that goes through it describes it, and what may be dialled there. */
import { joinHostPort, splitHostPort } from "../../base/address.js";
import { type CertificateSet, readCertificateSet } from "../pki/certificate-set.js";
import { NOT_A_HOST, parseHost } from "../wire/destination.js";
import { badAddress } from "./errors.js";

/** The frontend's protocol: `HTTPConnect` and `GRPC` in kube-apiserver's egress selector. */
export type FrontendProtocol = "http-connect" | "grpc";

export type Frontend =
  | { readonly mode: FrontendProtocol; readonly uds: string }
  | {
      readonly mode: FrontendProtocol;
      readonly host: string;
      readonly port: number;
      readonly tls: FrontendTls;
      /** Who dials, in messages. Default `this client`. */
      readonly self?: string;
    };

/** PEM texts, or files with them that are read again when they were replaced; a file wins over a text. */
export interface FrontendTls {
  /** Authorities of the server's certificate; neither: the system's. */
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

/** Where the frontend is, for people. */
export function describeFrontend(frontend: Frontend): string {
  return "uds" in frontend ? frontend.uds : joinHostPort(frontend.host, frontend.port);
}

/** Throws a DrawbridgeError that names the file at fault. */
export function certificatesOf({ ca, cert, key, ...files }: FrontendTls): CertificateSet {
  const texts = { ...(ca === undefined ? {} : { ca }), ...(cert === undefined ? {} : { cert }) };
  return { ...texts, ...(key === undefined ? {} : { key }), ...readCertificateSet(files) };
}

/**
 * A destination in the one form that servers and agents judge and dial. Also kept from a CONNECT request: a line of text
 * that an address could break out of.
 */
export function parseTarget(address: string): { readonly host: string; readonly port: number } {
  const split = splitHostPort(address);
  if ("error" in split) throw badAddress(address, split.error);
  const host = parseHost(split.host);
  if (host === undefined) throw badAddress(address, NOT_A_HOST);
  const port = Number(split.port);
  if (!/^\d{1,5}$/.test(split.port) || port < 1 || port > 65_535) {
    throw badAddress(address, "its port is not a number from 1 to 65535");
  }
  return { host: host.text, port };
}

/** The target's one form as text. */
export function canonicalTarget(address: string): string {
  const { host, port } = parseTarget(address);
  return joinHostPort(host, port);
}
