/** A peer that speaks HTTP/2 and packets but follows no rules: it can say anything a test wants to have said. */
import http2, { type ClientHttp2Session, type ClientHttp2Stream, type IncomingHttpHeaders } from "node:http2";
import { connect, type Socket } from "node:net";
import { connect as connectTls } from "node:tls";
import { encodePacket } from "../../../src/tunnel/wire/encode.js";
import type { ControlPacket, Packet } from "../../../src/tunnel/wire/packet.js";
import { PacketReader } from "../../../src/tunnel/wire/packet-reader.js";
import type { House } from "./house.js";

export interface RawPeer {
  readonly session: ClientHttp2Session;
  readonly stream: ClientHttp2Stream;
  /** The connection below. */
  readonly socket: Socket;
  /** Everything but DATA that came. */
  readonly packets: ControlPacket[];
  /** All payload that came. */
  bytes(): Buffer;
  readonly headers: Promise<IncomingHttpHeaders>;
  /** Trailers once they came; a reset gives its code instead. */
  ended(): { grpcStatus?: string; rstCode?: number } | undefined;
  send(packet: Packet): void;
  raw(bytes: Buffer | string): void;
  close(): void;
}

/** A Proxy call through the house's gRPC door. */
export function rawCaller(house: House): RawPeer {
  const socket = connect(house.grpcPath);
  const session = http2.connect("http://localhost", { createConnection: () => socket });
  return openPeer(session, socket, "/ProxyService/Proxy", {});
}

/** A Connect call on the agents' door, as an agent that knows no drawbridge features. */
export function rawAgent(
  house: House,
  metadata: Record<string, string | string[]> = { agentid: "raw" },
  client: { readonly cert: string; readonly key: string } = house.pki.clientTls,
): RawPeer {
  const socket = connectTls({
    host: "127.0.0.1",
    port: house.agentPort,
    ALPNProtocols: ["h2"],
    ca: house.pki.clientTls.ca,
    cert: client.cert,
    key: client.key,
  });
  const session = http2.connect("https://localhost", { createConnection: () => socket });
  return openPeer(session, socket, "/AgentService/Connect", metadata);
}

function openPeer(
  session: ClientHttp2Session,
  socket: Socket,
  path: string,
  metadata: Record<string, string | string[]>,
): RawPeer {
  session.on("error", () => {});
  const stream = session.request({
    ":method": "POST",
    ":path": path,
    "content-type": "application/grpc",
    te: "trailers",
    ...metadata,
  });
  const packets: ControlPacket[] = [];
  const chunks: Buffer[] = [];
  const reader = new PacketReader({
    onControl: (packet) => packets.push(packet),
    onData: (_id, chunk) => chunks.push(chunk),
  });
  let grpcStatus: string | undefined;
  let closed = false;
  const headers = new Promise<IncomingHttpHeaders>((resolve) => {
    stream.once("response", (received) => {
      grpcStatus = received["grpc-status"] as string | undefined;
      resolve(received);
    });
  });
  stream.on("trailers", (trailers) => {
    grpcStatus = trailers["grpc-status"] as string | undefined;
  });
  stream.on("data", (chunk: Buffer) => reader.push(chunk));
  stream.on("error", () => {});
  stream.once("close", () => {
    closed = true;
  });
  return {
    session,
    stream,
    socket,
    packets,
    headers,
    bytes: () => Buffer.concat(chunks),
    ended() {
      if (!closed) return undefined;
      return {
        ...(grpcStatus === undefined ? {} : { grpcStatus }),
        ...(stream.rstCode ? { rstCode: stream.rstCode } : {}),
      };
    },
    send: (packet) => stream.write(encodePacket(packet)),
    raw: (bytes) => stream.write(bytes),
    close: () => session.destroy(),
  };
}
