/** Header blocks (RFC 7541) without compression, and blocks that abuse it. */
import { Flag, FrameType, frame } from "./frames.js";

/** A literal field that does not enter the dynamic table. */
export function literal(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0), text(name), text(value)]);
}

/** A literal field that enters the dynamic table. */
export function indexed(name: string, value: string): Buffer {
  return Buffer.concat([Buffer.of(0x40), text(name), text(value)]);
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value, "latin1");
  return Buffer.concat([integer(bytes.length, 7, 0), bytes]);
}

/** An integer with a prefix of so many bits; `first` holds the bits before it. */
export function integer(value: number, bits: number, first: number): Buffer {
  const most = 2 ** bits - 1;
  if (value < most) return Buffer.of(first | value);
  const bytes = [first | most];
  let rest = value - most;
  for (; rest >= 128; rest = Math.floor(rest / 128)) bytes.push((rest % 128) | 128);
  return Buffer.of(...bytes, rest);
}

export const CONNECT_PATH = "/AgentService/Connect";
export const PROXY_PATH = "/ProxyService/Proxy";

export function requestBlock(path: string, metadata: Readonly<Record<string, string>> = {}): Buffer {
  return block({
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": "localhost",
    "content-type": "application/grpc",
    te: "trailers",
    ...metadata,
  });
}

export function block(fields: Readonly<Record<string, string>>): Buffer {
  return Buffer.concat(Object.entries(fields).map(([name, value]) => literal(name, value)));
}

/** The HEADERS frame that opens a call. */
export function openCall(stream: number, path: string, metadata: Readonly<Record<string, string>> = {}): Buffer {
  return frame(FrameType.HEADERS, Flag.END_HEADERS, stream, requestBlock(path, metadata));
}

/** The HEADERS frame with which a server accepts an agent's call. */
export function acceptCall(stream: number, metadata: Readonly<Record<string, string>>): Buffer {
  const fields = block({ ":status": "200", "content-type": "application/grpc", ...metadata });
  return frame(FrameType.HEADERS, Flag.END_HEADERS, stream, fields);
}
