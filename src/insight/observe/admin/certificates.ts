/** Certificates in use, as the API shows them. */
import type { X509Certificate } from "node:crypto";
import { shown } from "../../../base/redact/redact.js";
import type { CertificatePaths, CertificateSet } from "../../../tunnel/pki/certificate-set.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import type { CertificateInfo } from "./contract.js";

type CertificateUse = Pick<CertificateInfo, "file" | "use" | "kind">;

/** Parses each PEM text once, however often somebody asks. */
export class CertificateReader {
  readonly #read = new Map<string, { readonly pem: string; readonly infos: readonly CertificateInfo[] }>();

  describe(use: CertificateUse, pem: string | undefined): readonly CertificateInfo[] {
    if (pem === undefined) return [];
    const key = `${use.kind} ${use.use} ${use.file}`;
    const known = this.#read.get(key);
    if (known?.pem === pem) return known.infos;
    const infos = certificatesIn(pem).map(({ certificate }) => ({ ...use, ...factsOf(certificate) }));
    this.#read.set(key, { pem, infos });
    return infos;
  }

  /** A process's own certificate and the authorities that it checks its peers against. */
  describeSet(use: string, files: CertificatePaths, { cert, ca }: CertificateSet): readonly CertificateInfo[] {
    return [
      ...this.describe({ file: files.certFile ?? "", use, kind: "own" }, cert),
      ...this.describe({ file: files.caFile ?? "", use, kind: "trusted" }, ca),
    ];
  }
}

const REREAD_MS = 5_000;

/**
 * For files that are read only when they are needed: every few seconds is often enough for people. A file that cannot be
 * read now is reported by the next connection; here the last certificates stay.
 */
export function reread(read: () => readonly CertificateInfo[]): () => readonly CertificateInfo[] {
  let last: readonly CertificateInfo[] = [];
  let readAt = Number.NEGATIVE_INFINITY;
  return () => {
    const now = performance.now();
    if (now - readAt < REREAD_MS) return last;
    readAt = now;
    try {
      last = read();
    } catch {}
    return last;
  };
}

function factsOf(certificate: X509Certificate): Omit<CertificateInfo, keyof CertificateUse> {
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
