import { isIP } from "node:net";
import { DrawbridgeError } from "../../base/errors/error.js";

/** What a certificate is for. `both` suits a process that listens and dials with one identity. */
export type CertificateUse = "server" | "client" | "both";

/** P-256 unless a peer insists on RSA. Both are accepted by FIPS hosts. */
export type KeyKind = "p256" | "rsa2048";

/** What all certificates that are made have in common. */
export interface AuthorityRequest {
  readonly commonName: string;
  /** Kubernetes reads these as groups. */
  readonly organizations?: readonly string[];
  readonly organizationalUnits?: readonly string[];
  readonly key?: KeyKind;
  /** What the PEM of the key holds; PKCS #1 only where a peer can read nothing else. */
  readonly keyFormat?: "pkcs8" | "pkcs1";
  /** Default one day; never longer than the signer lives. */
  readonly validForMs?: number;
  /** How far validity reaches back before now; default five minutes, never before the signer's. */
  readonly backdateMs?: number;
  readonly now?: Date;
}

export interface CertificateRequest extends AuthorityRequest {
  readonly use: CertificateUse;
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
}

export const HOUR_MS = 60 * 60_000;
export const DAY_MS = 24 * HOUR_MS;

/** Peers whose clock runs behind must accept a certificate made a moment ago. */
export const DEFAULT_BACKDATE_MS = 5 * 60_000;

export const SERVER_AUTH = "1.3.6.1.5.5.7.3.1";
export const CLIENT_AUTH = "1.3.6.1.5.5.7.3.2";

export const extendedKeyUsages: Readonly<Record<CertificateUse, readonly string[]>> = {
  server: [SERVER_AUTH],
  client: [CLIENT_AUTH],
  both: [SERVER_AUTH, CLIENT_AUTH],
};

// RFC 5280 appendix A: ub-common-name and ub-organization-name.
const LONGEST_NAME_PART = 64;
const DNS_NAME = /^(\*\.)?([a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/i;

/** Refuses what would make a certificate that peers reject later, far from here. */
export function validateRequest({ use, commonName, dnsNames = [], ipAddresses = [] }: CertificateRequest): void {
  for (const name of dnsNames) {
    if (name.length > 253 || !DNS_NAME.test(name) || isIP(name) !== 0) {
      throw issueError(`"${name}" is not a DNS name; addresses go into ipAddresses`);
    }
  }
  for (const address of ipAddresses) {
    if (isIP(address) === 0 || address.includes("%")) {
      throw issueError(`"${address}" is not an IP address; names go into dnsNames`);
    }
  }
  if (use !== "client" && dnsNames.length + ipAddresses.length === 0) {
    throw issueError(
      `the certificate for "${commonName}" is a server's and needs at least one DNS name or IP address, since clients ignore the common name`,
    );
  }
}

export function validateSubject(request: AuthorityRequest): void {
  const { commonName, organizations = [], organizationalUnits = [], validForMs } = request;
  const parts = [
    ["common name", commonName],
    ...[...organizations, ...organizationalUnits].map((part) => ["organization", part]),
  ];
  for (const [what, value = ""] of parts) {
    if (value !== "" && value.length <= LONGEST_NAME_PART) continue;
    throw issueError(`the ${what} "${value}" must have 1 to ${LONGEST_NAME_PART} characters`);
  }
  if (validForMs !== undefined && !(validForMs >= 1000)) {
    throw issueError(`a certificate cannot be valid for ${validForMs} ms; give at least one second`);
  }
}

export const issueError = (sentence: string): DrawbridgeError => new DrawbridgeError("DB_CERT_ISSUE", sentence);
