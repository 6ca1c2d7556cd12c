/** What a set of certificates consists of, as data: who signs, who is signed, which signers are trusted together. */
import type { CertificateProfile, KeyKind } from "../request.js";

export interface SignerPlan {
  /** Its file is `<name>.crt`. */
  readonly name: string;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly organizationalUnits: readonly string[];
  readonly validForMs: number;
}

export interface LeafPlan {
  /** Its files are `<name>.crt` and `<name>.key`. */
  readonly name: string;
  /** The name of the signer. */
  readonly signer: string;
  readonly use: CertificateProfile;
  readonly commonName: string;
  readonly organizations: readonly string[];
  readonly dnsNames: readonly string[];
  readonly ipAddresses: readonly string[];
  readonly validForMs: number;
}

/** Signers that someone trusts, in one file `<name>.crt`. */
export interface BundlePlan {
  readonly name: string;
  readonly signers: readonly string[];
}

export interface ProfileSet {
  readonly key: KeyKind;
  /** What the key files hold; PKCS #1 only where a peer can read nothing else. */
  readonly keyFormat: "pkcs8" | "pkcs1";
  readonly backdateMs: number;
  readonly signers: readonly SignerPlan[];
  readonly leaves: readonly LeafPlan[];
  readonly bundles: readonly BundlePlan[];
}
