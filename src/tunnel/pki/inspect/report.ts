/** What an inspection says. */
import type { CertificateFacts } from "./facts.js";

export interface InspectedCertificate extends CertificateFacts {
  /** Negative once it has expired. */
  readonly endsInMs: number;
  readonly file: string;
  readonly mode: string;
  /** What it is meant for, as far as the manifest or the file's name tells. */
  readonly use: "signer" | "server" | "client" | "both" | undefined;
  /** Subjects from here to the authority that ends the chain; undefined when an authority is missing or refuses. */
  readonly chain: readonly string[] | undefined;
  readonly keyFile: string | undefined;
  readonly keyMode: string | undefined;
  readonly keyMatches: boolean | undefined;
}

export interface CertificateFinding {
  /** Only what is wrong makes the inspection fail. */
  readonly severity: "wrong" | "warning";
  /** Stable, for scripts. */
  readonly id: CertificateFindingId;
  readonly file: string;
  readonly message: string;
  readonly remedy: string;
}

export type CertificateFindingId =
  | "unreadable"
  | "incomplete"
  | "expired"
  | "not-yet-valid"
  | "expires-soon"
  | "outlives-signer"
  | "address"
  | "usage"
  | "chain"
  | "chain-unknown"
  | "may-not-sign"
  | "key-mismatch"
  | "key-missing"
  | "key-readable"
  | "signer-key"
  | "fips";

export interface InspectionReport {
  readonly path: string;
  /** When the path is a directory that drawbridge or certs.sh filled. */
  readonly set: { readonly profile: string; readonly madeAt: string; readonly signerKeysKept: boolean } | undefined;
  readonly certificates: readonly InspectedCertificate[];
  readonly findings: readonly CertificateFinding[];
}
