/** Data URLs, read exactly as strictly as Ignition reads them (RFC 2397 with its own narrowings). */

export type DataUrlReading =
  | {
      readonly ok: true;
      /** Everything before the comma: media type, parameters and encoding, as they are spelt. */
      readonly head: string;
      readonly bytes: Buffer;
    }
  | { readonly ok: false; readonly why: string };

const TOKEN = "[!#$%&'*+\\-.0-9A-Z^_`a-z{|}~]";
const MEDIA_TYPE = `(?:[xX]-${TOKEN}*|(?:text|image|audio|video|application|message|multipart)${TOKEN}*)/${TOKEN}*`;
const QUOTED = '"(?:[^"\\\\\\u0080-\\uffff\\n]|\\\\(?:[abfnrtv\\\\"]|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|u[0-9A-Fa-f]{4}))*"';
const PARAMETER = `;${TOKEN}+=(?:${TOKEN}+|${QUOTED})`;
const HEAD = new RegExp(`^data:(?:${MEDIA_TYPE})?((?:${PARAMETER})*)(;base64)?,`);

/** Heads are short; a longer one is an attempt to keep the matcher busy. */
const LONGEST_HEAD = 4096;

/** The head that the OpenShift installer and HyperShift give to every text file. */
const TEXT_HEAD = "data:text/plain;charset=utf-8;base64";

export function readDataUrl(url: string): DataUrlReading {
  if (!url.startsWith("data:")) return refused("it does not begin with data:");
  const [match, parameters = "", base64] = HEAD.exec(url.slice(0, LONGEST_HEAD)) ?? [];
  if (match === undefined) return refused("the part before its comma is not a media type with parameters");
  if (/%(?![0-9A-Fa-f]{2})/.test(parameters)) return refused("a parameter has a broken percent escape");
  const body = url.slice(match.length);
  const bytes = base64 === undefined ? fromPercent(body) : fromBase64(body);
  return typeof bytes === "string" ? refused(bytes) : { ok: true, head: match.slice(0, -1), bytes };
}

const refused = (why: string): DataUrlReading => ({ ok: false, why });

function fromBase64(body: string): Buffer | string {
  const padding = body.endsWith("==") ? 2 : body.endsWith("=") ? 1 : 0;
  const isBroken = body.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(body.slice(0, body.length - padding));
  return isBroken ? "its base64 is broken" : Buffer.from(body, "base64");
}

function fromPercent(body: string): Buffer | string {
  if (/[^!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]/.test(body)) return "a character in it must be escaped";
  if (/%(?![0-9A-Fa-f]{2})/.test(body)) return "it has a broken percent escape";
  const bytes = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at += 1) {
    if (body[at] === "%") {
      bytes[length++] = Number.parseInt(body.slice(at + 1, at + 3), 16);
      at += 2;
    } else bytes[length++] = body.charCodeAt(at);
  }
  return bytes.subarray(0, length);
}

/** The data URL of the bytes, in the encoding that the head names. */
export function dataUrlOf(bytes: Buffer | string, head = TEXT_HEAD): string {
  const content = Buffer.from(bytes);
  if (head.endsWith(";base64")) return `${head},${content.toString("base64")}`;
  // Everything but the characters that need no escape in any URL.
  const escaped = content.toString("latin1").replace(/[^A-Za-z0-9\-_.~]/g, (character) => {
    return `%${character.charCodeAt(0).toString(16).toUpperCase().padStart(2, "0")}`;
  });
  return `${head},${escaped}`;
}
