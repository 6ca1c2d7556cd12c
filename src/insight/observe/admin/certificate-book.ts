/** Certificates in use, as the API shows them; each text is read once, however often somebody asks. */
import type { X509Certificate } from "node:crypto";
import { shown } from "../../../base/redact/redact.js";
import type { CertificateInfo } from "./contract.js";

export type UseOfCertificate = Pick<CertificateInfo, "file" | "use" | "kind">;

export class CertificateBook {
  readonly #parse: (pem: string) => readonly X509Certificate[];
  readonly #read = new Map<string, { readonly pem: string; readonly infos: readonly CertificateInfo[] }>();

  constructor(parse: (pem: string) => readonly X509Certificate[]) {
    this.#parse = parse;
  }

  describe(use: UseOfCertificate, pem: string | undefined): readonly CertificateInfo[] {
    if (pem === undefined) return [];
    const key = `${use.kind} ${use.use} ${use.file}`;
    const known = this.#read.get(key);
    if (known?.pem === pem) return known.infos;
    const infos = this.#parse(pem).map((certificate) => ({ ...use, ...facts(certificate) }));
    this.#read.set(key, { pem, infos });
    return infos;
  }
}

/** For files that are read only when they are needed: for people who look, now and then is enough. */
export function rereadNowAndThen<T>(read: (last: T | undefined) => T, everyMs = 5_000): () => T {
  let last: { readonly at: number; readonly value: T } | undefined;
  return () => {
    const now = performance.now();
    if (last === undefined || now - last.at >= everyMs) last = { at: now, value: read(last?.value) };
    return last.value;
  };
}

function facts(certificate: X509Certificate): Omit<CertificateInfo, keyof UseOfCertificate> {
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
