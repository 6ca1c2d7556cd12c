/** Domain names inside DNS messages (RFC 1035 §3.1, §4.1.4), as lower-case text without the final dot. */

const MAX_LABEL = 63;
/** On the wire, length bytes and the root included. */
const MAX_NAME = 255;

/** Undefined: it cannot be a domain name. Any printable ASCII may stand in a label, as in DNS. */
export function encodeName(name: string): Buffer | undefined {
  const labels = name.replace(/\.$/, "").split(".");
  const parts: Buffer[] = [];
  for (const label of labels) {
    const bytes = Buffer.from(label, "latin1");
    if (bytes.length === 0 || bytes.length > MAX_LABEL || /[^\x21-\x7e]/.test(label)) return undefined;
    parts.push(Buffer.of(bytes.length), bytes);
  }
  parts.push(Buffer.of(0));
  const encoded = Buffer.concat(parts);
  return encoded.length > MAX_NAME ? undefined : encoded;
}

/**
 * Reads the name at `at`; `next` is where the message goes on. Undefined: malformed. Pointers may only lead back, each
 * further than the one before, so that no message can send us round in circles.
 */
export function decodeName(message: Buffer, at: number): { readonly name: string; readonly next: number } | undefined {
  const labels: string[] = [];
  let next: number | undefined;
  let limit = at;
  let length = 1;
  for (let here = at; ; ) {
    const head = message[here];
    if (head === undefined) return undefined;
    if (head === 0) return { name: labels.join(".").toLowerCase(), next: next ?? here + 1 };
    if (head >= 0xc0) {
      const low = message[here + 1];
      if (low === undefined) return undefined;
      const target = ((head & 0x3f) << 8) | low;
      if (target >= limit) return undefined;
      next ??= here + 2;
      limit = target;
      here = target;
      continue;
    }
    const end = here + 1 + head;
    length += head + 1;
    if (head > MAX_LABEL || end > message.length || length > MAX_NAME) return undefined;
    labels.push(escapeDots(message.toString("latin1", here + 1, end)));
    here = end;
  }
}

/** A dot inside a label must not look like a border between two. */
function escapeDots(label: string): string {
  return label.replaceAll("\\", "\\\\").replaceAll(".", "\\.");
}

/** In resolv.conf's order: a name with enough dots first as it is, one with fewer last. */
export function searchNames(name: string, searchDomains: readonly string[], ndots: number): string[] {
  if (name.endsWith(".")) return [name.slice(0, -1)];
  const extended = searchDomains.map((domain) => `${name}.${domain}`);
  return name.split(".").length - 1 >= ndots ? [name, ...extended] : [...extended, name];
}
