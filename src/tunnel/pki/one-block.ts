/**
 * The one PEM block of an object that somebody else reads, too. Readers differ in what they take for a block, so one spelling
 * of the whole text is accepted, the one that Go and OpenSSL write; of everything else it is said what is odd.
 */
import { pemText } from "./pem.js";

/** The bytes of the block. Throws an Error whose message follows "it cannot be read: ". */
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
    return lines.includes(begin)
      ? "something stands before its BEGIN line"
      : `it does not begin with the line ${begin}`;
  }
  const last = lines.indexOf(end);
  if (last < 0) {
    const isOther = lines.some((line) => line.startsWith("-----END "));
    return isOther ? "its END line is not the one that belongs to its BEGIN line" : `it has no line ${end}`;
  }
  const behind = lines.slice(last + 1).join("\n");
  if (behind.includes("-----BEGIN ")) return "a second PEM block stands behind the first";
  if (behind !== "") return "something stands behind its END line";
  return oddityOfBody(lines.slice(1, last));
}

function oddityOfBody(body: readonly string[]): string {
  const [base64, last] = [body.join(""), body.at(-1)];
  if (last === undefined) return "its block is empty";
  if (base64.includes("-----")) return "a line of dashes stands inside its block";
  if (base64.includes(":")) return "it has a PEM header";
  if (base64.includes(" ")) return "a space stands inside its base64";
  if (/[^A-Za-z0-9+/=]/.test(base64)) return "its base64 holds other characters than those of base64";
  if (!/^[^=]*={0,2}$/.test(base64) || last.startsWith("=")) {
    return "the padding of its base64 is not at the end of its last line";
  }
  const isEven = body.slice(0, -1).every((line) => line.length === 64) && last.length > 0 && last.length <= 64;
  if (!isEven) return "its base64 is not in lines of 64 characters";
  return "its base64 is not the one spelling of its bytes: the padding is missing, or bits stand behind the last byte";
}
