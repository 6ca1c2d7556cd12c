/** What a file holds that should be PEM and is not, as the rest of a sentence that begins with `it is not PEM`. */
export function whatItIs(bytes: Buffer): string {
  if (bytes.length === 0) return "but empty";
  const start = bytes.toString("latin1", 0, 2);
  if (start === "\xff\xfe" || start === "\xfe\xff") return "but text in UTF-16; save it as ASCII or UTF-8";
  if (/^[A-Za-z0-9+/=\s]+$/.test(bytes.toString("latin1")) && bytes.length > SHORTEST_BASE64) {
    return "but base64, as it stands in a Secret; base64 -d decodes it";
  }
  switch (derContent(bytes)) {
    case "certificate":
      return "but a certificate in DER; openssl x509 -inform der -outform pem converts it";
    case "key":
      return "but a private key in DER; openssl pkey -inform der -outform pem converts it";
    case "pkcs12":
      return "but PKCS #12; openssl pkcs12 -nodes converts it, and writes certificate and key into one file";
    default:
      return "and nothing else that is known here";
  }
}

/** What a PEM file without the block that was looked for holds, as the rest of a sentence; empty where that is not known. */
export function heldInstead(text: string): string {
  const label = /^-----BEGIN ([A-Z0-9 ]{1,60})-----/m.exec(text)?.[1];
  if (/-----BEGIN [^\n]*\\n/.test(text)) return ": its line ends are written out as \\n";
  if (label === undefined) return "";
  if (!text.includes(`-----END ${label}-----`)) return `: its ${label} block has no end, so the file is cut off`;
  if (label === "CERTIFICATE" || label.endsWith("PRIVATE KEY")) {
    return ` but a ${label}: were the files of certificate and key swapped?`;
  }
  return ` but a ${label}`;
}

/** Shorter ones may be a word. */
const SHORTEST_BASE64 = 64;

/** By what follows the head of the outer SEQUENCE: another one in a certificate, else the version of the structure. */
function derContent(bytes: Buffer): "certificate" | "key" | "pkcs12" | undefined {
  const [tag, length = 0] = bytes;
  if (tag !== 0x30) return undefined;
  const at = 2 + (length > 0x80 ? length - 0x80 : 0);
  if (bytes[at] === 0x30) return "certificate";
  if (bytes[at] !== 0x02 || bytes[at + 1] !== 0x01) return undefined;
  return bytes[at + 2] === 3 ? "pkcs12" : "key";
}
