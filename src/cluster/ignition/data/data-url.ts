/** Data URLs, read exactly as strictly as Ignition reads them (RFC 2397 with its own narrowings). */

export type DataUrlReading =
  | { readonly ok: true; readonly bytes: Buffer }
  | { readonly ok: false; readonly why: string };

const TOKEN = "[!#$%&'*+\\-.0-9A-Z^_`a-z{|}~]";
const MEDIA_TYPE = `(?:[xX]-${TOKEN}*|(?:text|image|audio|video|application|message|multipart)${TOKEN}*)/${TOKEN}*`;
const QUOTED = '"(?:[^"\\\\\\u0080-\\uffff\\n]|\\\\(?:[abfnrtv\\\\"]|x[0-9A-Fa-f]{2}|[0-3][0-7]{2}|u[0-9A-Fa-f]{4}))*"';
const PARAMETER = `;${TOKEN}+=(?:${TOKEN}+|${QUOTED})`;
const HEAD = new RegExp(`^data:(?:${MEDIA_TYPE})?((?:${PARAMETER})*)(;base64)?,`);

/** Heads are short; what is longer is an attempt to keep the matcher busy. */
const LONGEST_HEAD = 4096;

export function readDataUrl(url: string): DataUrlReading {
  if (!url.startsWith("data:")) return refused("it does not begin with data:");
  const [head, parameters = "", base64] = HEAD.exec(url.slice(0, LONGEST_HEAD)) ?? [];
  if (head === undefined) return refused("what stands before its comma is no media type with parameters");
  if (/%(?![0-9A-Fa-f]{2})/.test(parameters)) return refused("a parameter has a broken percent escape");
  const body = url.slice(head.length);
  return base64 === undefined ? fromPercent(body) : fromBase64(body);
}

function fromBase64(body: string): DataUrlReading {
  const padding = body.endsWith("==") ? 2 : body.endsWith("=") ? 1 : 0;
  if (body.length % 4 !== 0 || /[^A-Za-z0-9+/]/.test(body.slice(0, body.length - padding)))
    return refused("its base64 is broken");
  return { ok: true, bytes: Buffer.from(body, "base64") };
}

function fromPercent(body: string): DataUrlReading {
  if (/[^!$%&'()*+,\-./0-9:;=?@A-Z_a-z~]/.test(body)) return refused("a character in it would have to be escaped");
  if (/%(?![0-9A-Fa-f]{2})/.test(body)) return refused("it has a broken percent escape");
  const bytes = Buffer.allocUnsafe(body.length);
  let length = 0;
  for (let at = 0; at < body.length; at += 1) {
    if (body[at] === "%") {
      bytes[length++] = Number.parseInt(body.slice(at + 1, at + 3), 16);
      at += 2;
    } else bytes[length++] = body.charCodeAt(at);
  }
  return { ok: true, bytes: bytes.subarray(0, length) };
}

const refused = (why: string): DataUrlReading => ({ ok: false, why });

/** In the form the OpenShift installer and HyperShift use for everything. */
export function dataUrlOf(bytes: Buffer | string): string {
  return `data:text/plain;charset=utf-8;base64,${Buffer.from(bytes).toString("base64")}`;
}
