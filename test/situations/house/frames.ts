/** HTTP/2 frame by frame, for what no library would send. */
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import type { House } from "./house.js";

const PREFACE = Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
export const FrameType = { DATA: 0, HEADERS: 1, RST_STREAM: 3, SETTINGS: 4, GOAWAY: 7 } as const;
export const END_HEADERS = 0x04;

export function frame(type: number, flags: number, stream: number, body: Buffer = Buffer.alloc(0)): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(body.length, 0, 3);
  head[3] = type;
  head[4] = flags;
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, body]);
}

/** Header fields without any compression. */
export function fields(entries: Readonly<Record<string, string>>): Buffer {
  const field = ([name, value]: [string, string]): Buffer =>
    Buffer.concat([
      Buffer.from([0x10, name.length]),
      Buffer.from(name),
      Buffer.from([value.length]),
      Buffer.from(value),
    ]);
  return Buffer.concat(Object.entries(entries).map(field));
}

export function request(path: string, metadata: Readonly<Record<string, string>> = {}): Buffer {
  return fields({
    ":method": "POST",
    ":scheme": "http",
    ":path": path,
    ":authority": "localhost",
    te: "trailers",
    ...metadata,
  });
}

export interface FramePeer {
  readonly socket: Socket;
  /** Types of the frames that came, with their stream. */
  readonly received: { type: number; stream: number }[];
  readonly closed: boolean;
  write(...frames: Buffer[]): void;
}

/** A connection with preface and empty SETTINGS sent. */
export async function framePeer(house: House, door: "agent" | "caller"): Promise<FramePeer> {
  const socket =
    door === "caller"
      ? connect(house.grpcPath)
      : connectTls({ host: "127.0.0.1", port: house.agentPort, ALPNProtocols: ["h2"], ...house.pki.clientTls });
  socket.on("error", () => {});
  await new Promise((resolve) => socket.once(door === "caller" ? "connect" : "secureConnect", resolve));
  const received: { type: number; stream: number }[] = [];
  let pending: Buffer = Buffer.alloc(0);
  let closed = false;
  socket.on("data", (chunk: Buffer) => {
    pending = Buffer.concat([pending, chunk]);
    while (pending.length >= 9 && pending.length >= 9 + pending.readUIntBE(0, 3)) {
      received.push({ type: pending[3]!, stream: pending.readUInt32BE(5) });
      pending = pending.subarray(9 + pending.readUIntBE(0, 3));
    }
  });
  socket.once("close", () => {
    closed = true;
  });
  socket.write(Buffer.concat([PREFACE, frame(FrameType.SETTINGS, 0, 0)]));
  return {
    socket,
    received,
    get closed() {
      return closed;
    },
    write: (...frames) => socket.write(Buffer.concat(frames)),
  };
}
