/** PEM files of certificates and keys, read block by block as Go's encoding/pem reads them. */
import { createPrivateKey, X509Certificate } from "node:crypto";

export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
  /** RFC 1421 headers, as encrypted keys of the old kind carry them. */
  readonly headers: readonly string[];
  /** The block without its headers, in the one spelling that every reader agrees on. */
  readonly text: string;
}

const LINE_LENGTH = 64;

/** As Go and OpenSSL write it. */
export function pemText(label: string, der: Buffer): string {
  const lines = der.toString("base64").match(new RegExp(`.{1,${LINE_LENGTH}}`, "g")) ?? [];
  return [`-----BEGIN ${label}-----`, ...lines, `-----END ${label}-----`, ""].join("\n");
}

/** The well-formed blocks of a PEM file; anything around, between or broken is skipped, as Go does. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (let found = nextBlock(text, 0); found !== undefined; found = nextBlock(text, found.behind)) {
    const { der, headers, label } = found;
    blocks.push({ label, der, headers, text: pemText(label, der) });
  }
  return blocks;
}

const BEGIN_MARK = "-----BEGIN ";
const END_MARK = "\n-----END ";
const DASHES = "-----";

interface FoundBlock extends Pick<PemBlock, "label" | "der" | "headers"> {
  /** Where to look for the next one. */
  readonly behind: number;
}

/** Follows Go's pem.Decode (1.26) step by step: an END line, the last BEGIN line before it, headers, base64. */
function nextBlock(text: string, start: number): FoundBlock | undefined {
  let from = start;
  for (;;) {
    const end = text.indexOf(END_MARK, from);
    if (end < 0) return undefined;
    const trailer = end + END_MARK.length;
    // Only between the two: a text of END lines alone must not be searched from its start for each of them.
    const begin = from + text.slice(from, end).lastIndexOf(BEGIN_MARK);
    if (begin === from || (begin > from && text[begin - 1] === "\n")) {
      const found = blockBetween(text, { begin, end, trailer });
      if (found === "nothing further") return undefined;
      if (found !== undefined) return found;
    }
    from = trailer;
  }
}

function blockBetween(
  text: string,
  { begin, end, trailer }: { begin: number; end: number; trailer: number },
): FoundBlock | "nothing further" | undefined {
  const first = lineAt(text, begin + BEGIN_MARK.length);
  if (!first.line.endsWith(DASHES)) return undefined;
  const label = first.line.slice(0, -DASHES.length);
  const headers: string[] = [];
  let at = first.next;
  for (;;) {
    if (at >= text.length) return "nothing further";
    const { line, next } = lineAt(text, at);
    if (!line.includes(":")) break;
    headers.push(line);
    at = next;
  }
  if (headers.length > 0 && end < at) return trailer < at ? "nothing further" : undefined;
  const endLine = label + DASHES;
  if (!text.startsWith(endLine, trailer) || lineAt(text, trailer + endLine.length).line !== "") return undefined;
  const der = end > at ? decoded(text.slice(at, end)) : Buffer.alloc(0);
  if (der === undefined) return undefined;
  return { label, der, headers, behind: lineAt(text, end + END_MARK.length - 1).next };
}

/** Without white space at its end. */
function lineAt(text: string, at: number): { readonly line: string; readonly next: number } {
  const feed = text.indexOf("\n", at);
  const next = feed < 0 ? text.length : feed + 1;
  let stop = feed < 0 ? text.length : feed;
  if (feed > at && text[feed - 1] === "\r") stop--;
  while (stop > at && (text[stop - 1] === " " || text[stop - 1] === "\t")) stop--;
  return { line: text.slice(at, stop), next };
}

const QUADS = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

function decoded(body: string): Buffer | undefined {
  const plain = body.replace(/[ \t\r\n]/g, "");
  return QUADS.test(plain) ? Buffer.from(plain, "base64") : undefined;
}

export interface PemCertificate {
  readonly pem: string;
  readonly certificate: X509Certificate;
}

/** The blocks of a bundle that Go takes for certificates, whether they hold one or not. */
export function certificateBlocks(text: string): PemBlock[] {
  return pemBlocks(text).filter(({ label, headers }) => label === "CERTIFICATE" && headers.length === 0);
}

/** Every certificate in the text. Throws when a certificate block holds something else. */
export function certificatesIn(text: string): PemCertificate[] {
  return certificateBlocks(text).map(({ der, text: pem }) => ({ pem, certificate: certificateOf(der) }));
}

/** The first certificate, which is the leaf of a chain. Throws when there is none, or a block that holds something else. */
export function leafIn(text: string): X509Certificate {
  const [leaf] = certificatesIn(text);
  if (leaf === undefined) throw new Error("it holds no certificate");
  return leaf.certificate;
}

function certificateOf(der: Buffer): X509Certificate {
  const certificate = new X509Certificate(der);
  // OpenSSL would take PEM inside PEM, and stop reading where the certificate ends.
  if (!certificate.raw.equals(der)) throw new Error("the block holds more than a certificate");
  return certificate;
}

export interface PemKey {
  readonly pem: string;
  readonly key: ReturnType<typeof createPrivateKey>;
}

/** The first private key in the text; parameter blocks that openssl writes before EC keys are passed over. */
export function privateKeyIn(text: string): PemKey | undefined {
  const found = pemBlocks(text).find(({ label }) => label === "PRIVATE KEY" || label.endsWith(" PRIVATE KEY"));
  return found && { pem: found.text, key: createPrivateKey(found.text) };
}

export function holdsEncryptedKey(text: string): boolean {
  return pemBlocks(text).some(
    ({ label, headers }) =>
      label === "ENCRYPTED PRIVATE KEY" ||
      (label.endsWith("PRIVATE KEY") && headers.some((header) => header.includes("ENCRYPTED"))),
  );
}
