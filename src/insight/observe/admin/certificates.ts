/** Certificates in use, as the API shows them. */
import type { X509Certificate } from "node:crypto";
import { shown } from "../../../base/redact/redact.js";
import { certificatesIn } from "../../../tunnel/pki/pem.js";
import type { CertificateInfo } from "./contract.js";

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
 * For files that are read only when they are needed: every few seconds is often enough for people. A file that cannot be
 * read now is reported by the next connection; here the last certificates stay.
 */
export function reread(read: () => readonly CertificatesInUse[]): () => readonly CertificatesInUse[] {
  let last: readonly CertificatesInUse[] = [];
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
