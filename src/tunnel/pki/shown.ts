/** Certificates that others show, in words that are safe to print: their owners chose every one of them. */
import type { X509Certificate } from "node:crypto";
import { plainText } from "../../base/text.js";
import type { ShownCertificate } from "../events/facts.js";

/** More than any name that is meant to be read. */
const LONGEST_NAME = 200;

export function shownCertificate(certificate: X509Certificate): ShownCertificate {
  return {
    subject: shownName(certificate.subject),
    issuer: shownName(certificate.issuer),
    serial: plainText(certificate.serialNumber, LONGEST_NAME),
    notBeforeAt: Date.parse(certificate.validFrom),
    notAfterAt: Date.parse(certificate.validTo),
  };
}

/** A distinguished name as one line, the common name first. Node writes one part per line, and nothing for no part. */
export function shownName(name: string | undefined): string {
  return plainText((name ?? "").split("\n").reverse().join(","), LONGEST_NAME);
}
