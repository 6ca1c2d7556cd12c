/** PEM files of certificates and keys, read block by block as Go's encoding/pem reads them. */
import { createPrivateKey, X509Certificate } from "node:crypto";
import { isIP } from "node:net";

export interface PemBlock {
  readonly label: string;
  readonly der: Buffer;
  /** RFC 1421 headers, as encrypted keys of the old kind carry them. */
  readonly headers: readonly string[];
  /** The block without its headers, in the one spelling that every reader agrees on. */
  readonly text: string;
}

const LINE_LENGTH = 64;

/** A PEM block as Go and OpenSSL write it. */
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
  /** The offset from which the next block is searched. */
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
  const body = text.slice(at, Math.max(at, end)).replace(/[ \t\r\n]/g, "");
  if (!QUADS.test(body)) return undefined;
  return { label, der: Buffer.from(body, "base64"), headers, behind: lineAt(text, end + END_MARK.length - 1).next };
}

/** The line at an offset, without white space at its end. */
function lineAt(text: string, at: number): { readonly line: string; readonly next: number } {
  const feed = text.indexOf("\n", at);
  const next = feed < 0 ? text.length : feed + 1;
  let stop = feed < 0 ? text.length : feed;
  if (feed > at && text[feed - 1] === "\r") stop--;
  while (stop > at && (text[stop - 1] === " " || text[stop - 1] === "\t")) stop--;
  return { line: text.slice(at, stop), next };
}

const QUADS = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/;

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
  return certificateBlocks(text).map(({ der, text: pem }) => {
    const certificate = new X509Certificate(der);
    // OpenSSL would take PEM inside PEM, and stop reading where the certificate ends.
    if (!certificate.raw.equals(der)) throw new Error("the block holds more than a certificate");
    return { pem, certificate };
  });
}

/** Every certificate in the text; none when a block is damaged, since there is nothing in it to keep. */
export function readableCertificates(text: string): PemCertificate[] {
  try {
    return certificatesIn(text);
  } catch {
    return [];
  }
}

export const joinedPem = (certificates: readonly PemCertificate[]): string =>
  certificates.map(({ pem }) => pem).join("");

/** The first certificate, which is the leaf of a chain. Throws when there is none, or a block that holds something else. */
export function leafIn(text: string): X509Certificate {
  const [leaf] = certificatesIn(text);
  if (leaf === undefined) throw new Error("it holds no certificate");
  return leaf.certificate;
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

export type ChainResult =
  | { readonly state: "verified"; readonly chain: readonly X509Certificate[] }
  /** An authority of the issuer's name is here, but it is not the one that signed. */
  | { readonly state: "forged" }
  /** Authorities are here, none has the issuer's name. */
  | { readonly state: "foreign" }
  | { readonly state: "unknown" };

export function chainOf(certificate: X509Certificate, authorities: readonly X509Certificate[]): ChainResult {
  const chain = followChain(certificate, authorities);
  // The authority above the last one need not be here: what is trusted is what the files hold.
  if (chain.length > 1 || isSignedBy(certificate, certificate)) return { state: "verified", chain };
  if (authorities.some((authority) => authority.subject === certificate.issuer)) return { state: "forged" };
  return { state: authorities.length > 0 ? "foreign" : "unknown" };
}

/** OpenSSL's own bound. */
export const LONGEST_CHAIN = 100;

/** From the leaf to one of the anchors, or as far as the other certificates lead. */
export function followChain(
  leaf: X509Certificate,
  others: readonly X509Certificate[],
  anchors: readonly X509Certificate[] = [],
  isIssuedBy = isSignedBy,
): X509Certificate[] {
  const chain = [leaf];
  while (chain.length < LONGEST_CHAIN) {
    const last = chain.at(-1)!;
    if (isAmong(last, anchors)) break;
    // An authority that was renewed with its key is there twice.
    const [anchor] = anchors.filter((each) => isIssuedBy(last, each)).sort((a, b) => endOf(b) - endOf(a));
    if (anchor === undefined && isIssuedBy(last, last)) break;
    const next = anchor ?? others.find((each) => !isAmong(each, chain) && isIssuedBy(last, each));
    if (next === undefined) break;
    chain.push(next);
  }
  return chain;
}

export const isAmong = ({ fingerprint256 }: X509Certificate, others: readonly X509Certificate[]): boolean =>
  others.some((each) => each.fingerprint256 === fingerprint256);

/** In milliseconds. */
export const endOf = ({ validTo }: X509Certificate): number => Date.parse(validTo);

/** Whether the certificate is for a host or address. Only the names it lists count, as for every Go program. */
export function isFor(certificate: X509Certificate, name: string): boolean {
  const listed = isIP(name) === 0 ? certificate.checkHost(name, { subject: "never" }) : certificate.checkIP(name);
  return listed !== undefined;
}

/** Compared by issuer and by signature. */
export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/**
 * Reads the one PEM block of an object that somebody else reads, too. Readers differ in what they take for a block, so
 * only the spelling that Go and OpenSSL write is accepted. Throws an Error whose message follows "it cannot be read: ".
 */
export function readOneBlock(text: string, label: string): Buffer {
  const lines = text.split("\n");
  const der = Buffer.from(lines.slice(1, lines.indexOf(`-----END ${label}-----`)).join(""), "base64");
  const only = pemText(label, der);
  // Whoever trims the last line feed has not changed anything that a reader could see differently.
  if (der.length > 0 && (text === only || `${text}\n` === only)) return der;
  throw new Error(oddityOf(text, lines, label));
}

const namedCharacters: Readonly<Record<string, string>> = {
  "\0": "a NUL byte",
  "\t": "a tab",
  "\r": "a carriage return",
  "\xef": "a byte order mark or another character beyond ASCII",
};

function oddityOf(text: string, lines: readonly string[], label: string): string {
  const begin = `-----BEGIN ${label}-----`;
  const end = `-----END ${label}-----`;
  if (text === "") return "it is empty";
  const strange = /[^\n\x20-\x7e]/.exec(text)?.[0];
  if (strange !== undefined) {
    const code = strange.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0");
    return `it holds ${namedCharacters[strange] ?? `the character 0x${code}`}, and PEM is plain text in lines that end with a line feed`;
  }
  if (lines[0] !== begin) {
    const other = /^-----BEGIN (.*)-----$/.exec(lines[0]!)?.[1];
    if (other !== undefined) return `its block is "${other}" and must be "${label}"`;
    return lines.includes(begin) ? "there is text before its BEGIN line" : `it does not begin with the line ${begin}`;
  }
  const last = lines.indexOf(end);
  if (last < 0) {
    const isOther = lines.some((line) => line.startsWith("-----END "));
    return isOther ? "its END line is not the one that belongs to its BEGIN line" : `it has no line ${end}`;
  }
  const behind = lines.slice(last + 1).join("\n");
  if (behind.includes("-----BEGIN ")) return "a second PEM block follows the first";
  if (behind !== "") return "there is text after its END line";
  return oddityOfBody(lines.slice(1, last));
}

function oddityOfBody(body: readonly string[]): string {
  const [base64, last] = [body.join(""), body.at(-1)];
  if (last === undefined) return "its block is empty";
  if (base64.includes("-----")) return "a line of dashes is inside its block";
  if (base64.includes(":")) return "it has a PEM header";
  if (base64.includes(" ")) return "there is a space inside its base64";
  if (/[^A-Za-z0-9+/=]/.test(base64)) return "its base64 holds other characters than those of base64";
  if (!/^[^=]*={0,2}$/.test(base64) || last.startsWith("=")) {
    return "the padding of its base64 is not at the end of its last line";
  }
  const isEven = body.slice(0, -1).every((line) => line.length === 64) && last.length > 0 && last.length <= 64;
  if (!isEven) return "its base64 is not in lines of 64 characters";
  return "its base64 is not the one spelling of its bytes: the padding is missing, or there are bits after the last byte";
}
