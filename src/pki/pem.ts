import { createPrivateKey, X509Certificate } from "node:crypto";

export interface PemBlock {
  readonly label: string;
  /** The block as written, with its BEGIN and END lines. */
  readonly text: string;
  /** RFC 1421 headers, as encrypted keys of the old kind carry them. */
  readonly hasHeaders: boolean;
}

// The body stops at the next dashes, so a block that lost its END line does not swallow the one after it.
const block = /-----BEGIN ([A-Z0-9 ]+)-----[ \t]*\r?\n((?:(?!-----)[\s\S])*)-----END \1-----/g;
const base64 = /^[A-Za-z0-9+/\s]+={0,2}\s*$/;

/** The well-formed blocks of a PEM file; anything around, between or broken is skipped, as Go does. */
export function pemBlocks(text: string): PemBlock[] {
  const blocks: PemBlock[] = [];
  for (const [whole, label, body] of text.matchAll(block)) {
    const hasHeaders = body!.includes(":");
    if (hasHeaders || base64.test(body!)) blocks.push({ label: label!, text: `${whole}\n`, hasHeaders });
  }
  return blocks;
}

/** Every certificate in the text. Throws when a certificate block holds something else. */
export function certificatesIn(text: string): { readonly pem: string; readonly certificate: X509Certificate }[] {
  return pemBlocks(text)
    .filter(({ label, hasHeaders }) => label === "CERTIFICATE" && !hasHeaders)
    .map(({ text: pem }) => ({ pem, certificate: new X509Certificate(pem) }));
}

/** The first private key in the text; parameter blocks that openssl writes before EC keys are passed over. */
export function privateKeyIn(
  text: string,
): { readonly pem: string; readonly key: ReturnType<typeof createPrivateKey> } | undefined {
  const found = pemBlocks(text).find(({ label }) => label === "PRIVATE KEY" || label.endsWith(" PRIVATE KEY"));
  return found && { pem: found.text, key: createPrivateKey(found.text) };
}

export function holdsEncryptedKey(text: string): boolean {
  return pemBlocks(text).some(
    ({ label, hasHeaders, text: pem }) =>
      label === "ENCRYPTED PRIVATE KEY" || (hasHeaders && label.endsWith("PRIVATE KEY") && pem.includes("ENCRYPTED")),
  );
}
