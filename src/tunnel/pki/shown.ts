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

/** A subject or an issuer, quoted: whoever made the certificate chose it. */
export function quotedName(name: string): string {
  return JSON.stringify(shownName(name));
}

const MOST_NAMES = 4;

/** `"a", "b" and 3 others`. */
export function listed(texts: readonly string[]): string {
  const shown = [...new Set(texts)];
  const rest = shown.length - MOST_NAMES;
  return rest > 0 ? `${shown.slice(0, MOST_NAMES).join(", ")} and ${rest} others` : shown.join(", ");
}

/** Whether it may be used so; one that does not say what it is for may be used for everything. */
export function isForUse({ keyUsage }: X509Certificate, oid: string): boolean {
  const uses = keyUsage as readonly string[] | undefined;
  return uses === undefined || uses.length === 0 || uses.includes(oid) || uses.includes(ANY_USE);
}

const ANY_USE = "2.5.29.37.0";
