import { isIP } from "node:net";
import { DrawbridgeError } from "../../base/errors/error.js";

/** What a certificate is for. `both` suits a process that listens and dials with one identity. */
export type CertificateUse = "server" | "client" | "both";

/** P-256 unless a peer insists on RSA. Both are accepted by FIPS hosts. */
export type KeyKind = "p256" | "rsa2048";

export interface CertificateRequest {
  readonly use: CertificateUse;
  readonly commonName: string;
  /** Kubernetes reads these as groups. */
  readonly organizations?: readonly string[];
  readonly dnsNames?: readonly string[];
  readonly ipAddresses?: readonly string[];
  readonly key?: KeyKind;
  /** Default one day; never longer than the authority lives. */
  readonly validForMs?: number;
  /** How far validity reaches back before now; default five minutes, never before the authority's. */
  readonly backdateMs?: number;
  readonly now?: Date;
}

export const HOUR_MS = 60 * 60_000;
export const dayMs = 24 * HOUR_MS;

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
export function validateRequest(request: CertificateRequest): void {
  validateNamePart("common name", request.commonName);
  for (const organization of request.organizations ?? []) validateNamePart("organization", organization);
  for (const name of request.dnsNames ?? []) {
    if (name.length > 253 || !DNS_NAME.test(name) || isIP(name) !== 0) {
      throw issueError(`"${name}" is not a DNS name; addresses go into ipAddresses`);
    }
  }
  for (const address of request.ipAddresses ?? []) {
    if (isIP(address) === 0 || address.includes("%")) {
      throw issueError(`"${address}" is not an IP address; names go into dnsNames`);
    }
  }
  const names = (request.dnsNames?.length ?? 0) + (request.ipAddresses?.length ?? 0);
  if (request.use !== "client" && names === 0) {
    throw issueError(
      `the certificate for "${request.commonName}" is a server's and needs at least one DNS name or IP address, since clients ignore the common name`,
    );
  }
  validateLifetime(request.validForMs);
}

export function validateNamePart(what: string, value: string): void {
  if (value === "" || value.length > LONGEST_NAME_PART) {
    throw issueError(`the ${what} "${value}" must have 1 to ${LONGEST_NAME_PART} characters`);
  }
}

export function validateLifetime(validForMs: number | undefined): void {
  if (validForMs !== undefined && !(validForMs >= 1000)) {
    throw issueError(`a certificate cannot be valid for ${validForMs} ms; give at least one second`);
  }
}

export function issueError(sentence: string, cause?: unknown): DrawbridgeError {
  return new DrawbridgeError("DB_CERT_ISSUE", sentence, { cause });
}
