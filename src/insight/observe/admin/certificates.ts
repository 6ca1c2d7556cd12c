/** Certificates in use, as the API shows them. */
import type { X509Certificate } from "node:crypto";
import { DrawbridgeError } from "../../../base/errors/error.js";
import { shown } from "../../../base/redact/redact.js";
import { type CertificatePaths, type CertificateSet, readCertificateSet } from "../../../tunnel/pki/certificate-set.js";
import type { FileProblem } from "../../../tunnel/pki/followed-files.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import { unusedFilesOf } from "../../../tunnel/pki/unused-files.js";
import type { CertificateInfo, UnusedFiles } from "./contract.js";

/** PEM texts in use, and where they come from: the own certificate, and the authorities that peers are checked against. */
export interface CertificatesInUse {
  /** What for, e.g. `agents`. */
  readonly use: string;
  readonly cert?: string | undefined;
  readonly certFile?: string | undefined;
  readonly ca?: string | undefined;
  readonly caFile?: string | undefined;
}

/** Parses each PEM text once, however often somebody asks. */
export class CertificateReader {
  readonly #read = new Map<string, { readonly pem: string; readonly infos: readonly CertificateInfo[] }>();

  describe({ use, cert = "", certFile: file = "", ca = "", caFile = "" }: CertificatesInUse): CertificateInfo[] {
    const own = this.#describe({ file, use, kind: "own" }, cert);
    return [...own, ...this.#describe({ file: caFile, use, kind: "trusted" }, ca)];
  }

  #describe(use: Pick<CertificateInfo, "file" | "use" | "kind">, pem: string): readonly CertificateInfo[] {
    const key = `${use.kind} ${use.use} ${use.file}`;
    const known = this.#read.get(key);
    if (known?.pem === pem) return known.infos;
    const infos = certificatesIn(pem).map(({ certificate }) => ({ ...use, ...factsOf(certificate) }));
    this.#read.set(key, { pem, infos });
    return infos;
  }
}

const REREAD_MS = 5_000;

/**
 * For files that are read only when they are needed: every few seconds is often enough for people. When they cannot be
 * read now, the last certificates stay, and `unused` says why; it is looked for again whenever somebody asks.
 */
export class RereadCertificates {
  #last: CertificateSet = {};
  #readAt = Number.NEGATIVE_INFINITY;
  #problem: FileProblem | undefined;
  readonly #use: string;
  readonly #paths: CertificatePaths;
  readonly #read: () => CertificateSet;

  constructor(use: string, paths: CertificatePaths, read = () => readCertificateSet(paths)) {
    this.#use = use;
    this.#paths = paths;
    this.#read = read;
  }

  get inUse(): CertificatesInUse {
    this.#look();
    const { certFile, caFile } = this.#paths;
    const { cert, ca } = this.#last;
    return { use: this.#use, cert, certFile, ca, caFile };
  }

  get unused(): readonly UnusedFiles[] {
    this.#look();
    const { certFile, keyFile, caFile } = this.#paths;
    return unusedFilesOf(this.#use, [certFile, keyFile, caFile], this.#problem);
  }

  #look(): void {
    const now = performance.now();
    if (this.#problem === undefined && now - this.#readAt < REREAD_MS) return;
    this.#readAt = now;
    try {
      this.#last = this.#read();
      this.#problem = undefined;
    } catch (reason) {
      if (!(reason instanceof DrawbridgeError)) throw reason;
      this.#problem = { error: reason, at: this.#problem?.at ?? Date.now() };
    }
  }
}

function factsOf(certificate: X509Certificate): Omit<CertificateInfo, "file" | "use" | "kind"> {
  const { subject, issuer, subjectAltName = "", serialNumber, fingerprint256, validFrom, validTo } = certificate;
  return {
    subject: oneLine(subject),
    issuer: oneLine(issuer),
    names: subjectAltName === "" ? [] : subjectAltName.split(", ").map(shown),
    serial: serialNumber,
    fingerprint: fingerprint256.replaceAll(":", "").toLowerCase(),
    notBeforeAt: Date.parse(validFrom),
    notAfterAt: Date.parse(validTo),
  };
}

/** Node puts each part of a name on a line of its own; a certificate without a name has none. */
function oneLine(name: string | undefined): string {
  return shown((name ?? "").split("\n").join(", "));
}
