/** SOCKS5 (RFC 1928) as a server meets it: what clients say and what they are answered, as pure bytes. */
import ipaddr from "ipaddr.js";
import { NOT_A_HOST, parseHost } from "./destination.js";

const VERSION = 5;
const CONNECT = 1;
const ADDRESS_TYPE = { ipv4: 1, name: 3, ipv6: 4 } as const;

/** The authentication methods that matter here. */
export const SOCKS5_METHOD = { none: 0x00, notAcceptable: 0xff } as const;

/** Section 6 of the RFC. */
export const SOCKS5_REPLY = {
  succeeded: 0,
  generalFailure: 1,
  notAllowed: 2,
  networkUnreachable: 3,
  hostUnreachable: 4,
  connectionRefused: 5,
  ttlExpired: 6,
  commandNotSupported: 7,
  addressTypeNotSupported: 8,
} as const;

export type Socks5Reply = (typeof SOCKS5_REPLY)[keyof typeof SOCKS5_REPLY];

export type Socks5Greeting =
  | { readonly kind: "greeting"; readonly offersNone: boolean; readonly bytes: number }
  | { readonly kind: "other-protocol" };

/** Parses what has arrived so far. Undefined: it is not complete yet. */
export function parseSocks5Greeting(bytes: Uint8Array): Socks5Greeting | undefined {
  const [version, count] = bytes;
  if (version === undefined) return undefined;
  // Told by the first byte, so that an HTTP or SOCKS4 client is not kept waiting.
  if (version !== VERSION) return { kind: "other-protocol" };
  if (count === undefined || bytes.length < 2 + count) return undefined;
  const offersNone = bytes.subarray(2, 2 + count).includes(SOCKS5_METHOD.none);
  return { kind: "greeting", offersNone, bytes: 2 + count };
}

export type Socks5Request =
  | { readonly kind: "connect"; readonly host: string; readonly port: number; readonly bytes: number }
  /** To be answered with that reply, and with the end of the connection. */
  | { readonly kind: "unusable"; readonly reply: Socks5Reply; readonly why: string }
  | { readonly kind: "other-protocol" };

/** Parses what has arrived since the greeting. Undefined: it is not complete yet. */
export function parseSocks5Request(bytes: Uint8Array): Socks5Request | undefined {
  const [version, command, , type, nameBytes] = bytes;
  if (version === undefined) return undefined;
  if (version !== VERSION) return { kind: "other-protocol" };
  if (command === undefined) return undefined;
  if (command !== CONNECT) return unusable("commandNotSupported", `command ${command} is not CONNECT`);
  if (type === undefined) return undefined;
  const span = addressSpan(type, nameBytes);
  if (span === "unknown") return unusable("addressTypeNotSupported", `address type ${type} is not known`);
  if (span === undefined || bytes.length < span.end + 2) return undefined;
  const host = hostOf(type, bytes.subarray(span.start, span.end));
  const port = bytes[span.end]! * 256 + bytes[span.end + 1]!;
  if (host === undefined) return unusable("generalFailure", NOT_A_HOST);
  if (port === 0) return unusable("generalFailure", "port 0 cannot be dialled");
  return { kind: "connect", host, port, bytes: span.end + 2 };
}

/** Where the address is in the request. Undefined: not known before the next byte. */
function addressSpan(type: number, nameBytes: number | undefined) {
  if (type === ADDRESS_TYPE.ipv4) return { start: 4, end: 8 };
  if (type === ADDRESS_TYPE.ipv6) return { start: 4, end: 20 };
  if (type !== ADDRESS_TYPE.name) return "unknown";
  return nameBytes === undefined ? undefined : { start: 5, end: 5 + nameBytes };
}

function hostOf(type: number, address: Uint8Array): string | undefined {
  const text =
    type === ADDRESS_TYPE.name
      ? String.fromCharCode(...address).replace(/^\[(.*)\]$/, "$1")
      : ipaddr.fromByteArray([...address]).toString();
  return parseHost(text)?.text;
}

function unusable(reply: keyof typeof SOCKS5_REPLY, why: string): Socks5Request {
  return { kind: "unusable", reply: SOCKS5_REPLY[reply], why };
}

export function socks5MethodChoice(method: number): Uint8Array {
  return Uint8Array.of(VERSION, method);
}

/** With our end of the connection to the target, where one is known. */
export function socks5Reply(reply: Socks5Reply, { localAddress = "", localPort = 0 }: BoundAddress = {}): Uint8Array {
  const known = ipaddr.isValid(localAddress);
  const address = ipaddr.parse(known ? localAddress : "0.0.0.0");
  const type = address.kind() === "ipv4" ? ADDRESS_TYPE.ipv4 : ADDRESS_TYPE.ipv6;
  const port = known ? localPort : 0;
  return Uint8Array.of(VERSION, reply, 0, type, ...address.toByteArray(), port >> 8, port & 0xff);
}

interface BoundAddress {
  readonly localAddress?: string | undefined;
  readonly localPort?: number | undefined;
}
