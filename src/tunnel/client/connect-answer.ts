/** The answer to a CONNECT request, as pure text. */

export type ConnectAnswer =
  | {
      readonly kind: "answer";
      readonly status: number;
      /** Undefined: the body ends with the connection. */
      readonly bodyBytes: number | undefined;
      /** Where the head ends; what follows is the body, or the first bytes from the endpoint. */
      readonly headBytes: number;
    }
  | { readonly kind: "malformed" };

/** No server of this kind sends a head of even a tenth of this. */
const MAX_HEAD_BYTES = 64 * 1024;

const START = "HTTP/1.";
const STATUS_LINE = /^HTTP\/1\.[01] (\d{3})(?: |\r?$)/;
const CONTENT_LENGTH = /^content-length:[ \t]*(\d{1,15})[ \t]*\r?$/im;

/** Undefined: the head is not complete yet. */
export function parseConnectAnswer(bytes: Buffer): ConnectAnswer | undefined {
  // Said at once, so that a server that speaks something else is not waited for.
  const start = bytes.toString("latin1", 0, START.length);
  if (!START.startsWith(start) && start !== START) return { kind: "malformed" };
  const end = endOfHead(bytes);
  if (end === undefined) return bytes.length > MAX_HEAD_BYTES ? { kind: "malformed" } : undefined;
  const head = bytes.toString("latin1", 0, end);
  const status = STATUS_LINE.exec(head.slice(0, head.indexOf("\n")))?.[1];
  if (status === undefined) return { kind: "malformed" };
  const length = CONTENT_LENGTH.exec(head)?.[1];
  return {
    kind: "answer",
    status: Number(status),
    bodyBytes: length === undefined ? undefined : Number(length),
    headBytes: end,
  };
}

/** Offset behind the empty line. */
function endOfHead(bytes: Buffer): number | undefined {
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) {
    if (bytes[at + 1] === 0x0a) return at + 2;
    if (bytes[at + 1] === 0x0d && bytes[at + 2] === 0x0a) return at + 3;
  }
  return undefined;
}
