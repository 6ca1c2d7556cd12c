/** A front door: one listener of one kind, on a Unix socket or on TCP with TLS. */
import { chmodSync, chownSync, lstatSync, unlinkSync } from "node:fs";
import net, { type Server, type Socket } from "node:net";
import tls, { type SecureContextOptions } from "node:tls";
import { DrawbridgeError } from "../../errors/error.js";
import { listenOn } from "../../errors/listen.js";
import type { SegmentCounters } from "../../link/counters.js";
import { goCodeName } from "../../link/grpc-status.js";
import { acceptCall, createGrpcListener, type GrpcListener, type IncomingCall } from "../../link/listener.js";
import { PacketStream } from "../../link/packet-stream.js";
import { CALLER_WINDOW_BYTES } from "../../link/tuning.js";
import { PassingSet } from "../../memory/passing.js";
import { streamError } from "../../observe/channels.js";
import type { ListenerConfig } from "../config.js";
import type { Switchboard } from "../switchboard.js";
import { ConnectCaller } from "./connect-caller.js";
import { GrpcCaller } from "./grpc-caller.js";

export interface FrontDoorOptions {
  readonly board: Switchboard;
  readonly config: ListenerConfig;
  /** Absent on Unix sockets. */
  readonly tls?: SecureContextOptions;
  readonly keepaliveMs: number;
  readonly received: SegmentCounters;
  readonly sent: SegmentCounters;
}

export interface FrontDoor {
  readonly config: ListenerConfig;
  readonly server: Server;
  /** Proxy streams or CONNECT requests in progress. */
  readonly open: number;
  /** Whether bytes for a caller still wait for its connection to take them. */
  readonly flushing: boolean;
  setSecureContext(options: SecureContextOptions): void;
  /** No new callers; those under way may finish. */
  drain(): void;
  destroy(): void;
}

export function createFrontDoor(options: FrontDoorOptions): FrontDoor {
  return options.config.mode === "grpc" ? grpcDoor(options) : connectDoor(options);
}

function grpcDoor({ board, config, tls: secure, keepaliveMs, received, sent }: FrontDoorOptions): FrontDoor {
  const callers = new PassingSet<PacketStream>();
  const onCall = (call: IncomingCall): void => {
    acceptCall(call.stream);
    const caller = new GrpcCaller(board, {
      onStreamClosed(end) {
        leave();
        if (end.status === 0) return;
        const code = goCodeName(end.status);
        streamError.publish({ source: board.source, segment: "from_client", code, packetType: "Unknown" });
      },
    });
    const packets = new PacketStream(call.stream, caller, received, sent);
    const leave = callers.add(packets);
    caller.attach(packets);
  };
  const listener: GrpcListener = createGrpcListener({
    method: "/ProxyService/Proxy",
    keepaliveMs,
    streamWindowBytes: CALLER_WINDOW_BYTES,
    onCall,
    ...(secure === undefined ? {} : { tls: { ...secure, requestCert: secure.ca !== undefined } }),
  });
  return {
    config,
    server: listener.server,
    get open() {
      return callers.size;
    },
    get flushing() {
      for (const caller of callers) if (caller.queuedBytes > 0) return true;
      return false;
    },
    setSecureContext: (context) => listener.server.setSecureContext?.(context),
    drain: () => listener.drain(),
    destroy: () => listener.destroy(),
  };
}

function connectDoor({ board, config, tls: secure }: FrontDoorOptions): FrontDoor {
  const sockets = new PassingSet<Socket>();
  const onSocket = (socket: Socket): void => {
    socket.once("close", sockets.add(socket));
    socket.setNoDelay(true);
    new ConnectCaller(socket, board);
  };
  // Half-open, so that a caller's FIN does not throw away what still travels towards it.
  const server =
    secure === undefined
      ? net.createServer({ allowHalfOpen: true }, onSocket)
      : tls.createServer(
          {
            ...secure,
            allowHalfOpen: true,
            ALPNProtocols: ["http/1.1"],
            requestCert: secure.ca !== undefined,
            rejectUnauthorized: secure.ca !== undefined,
          },
          onSocket,
        );
  return {
    config,
    server,
    get open() {
      return sockets.size;
    },
    get flushing() {
      for (const socket of sockets) if (socket.writableLength > 0) return true;
      return false;
    },
    setSecureContext: (context) => (server as tls.Server).setSecureContext(context),
    drain: () => server.close(),
    destroy() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Opens the door; the socket file gets its mode and owner before anybody can connect by name. */
export async function openDoor(door: FrontDoor): Promise<string> {
  const { config, server } = door;
  if (config.transport === "tcp") {
    await listenOn(server, `${config.mode} frontend`, { host: config.host, port: config.port });
    return `${config.host}:${config.port}`;
  }
  prepareSocketFile(config.path, config.deleteExisting);
  // The umask is what makes the file 0770 at birth, as upstream does it: no moment in which others could connect.
  const umask = process.umask(0o777 & ~config.fileMode);
  try {
    await listenOn(server, `${config.mode} frontend`, { path: config.path });
  } finally {
    process.umask(umask);
  }
  chmodSync(config.path, config.fileMode);
  if (config.owner !== undefined) chownSync(config.path, config.owner.uid, config.owner.gid);
  return config.path;
}

/** The kernel's sockaddr_un holds 108 bytes, the last of them zero. */
const MAX_UDS_PATH = 107;

function prepareSocketFile(path: string, deleteExisting: boolean): void {
  if (Buffer.byteLength(path) > MAX_UDS_PATH) {
    throw new DrawbridgeError(
      "DB_UDS_PATH_TOO_LONG",
      `the socket path ${path} is longer than the ${MAX_UDS_PATH} bytes the kernel takes; choose a shorter one.`,
    );
  }
  const existing = lstatSync(path, { throwIfNoEntry: false });
  if (!deleteExisting || existing === undefined) return;
  if (!existing.isSocket()) {
    // Upstream deletes whatever is there; a mistyped path must not cost anybody a file.
    throw new DrawbridgeError("DB_UDS_NOT_SOCKET", `${path} exists and is not a socket; it is left alone.`);
  }
  unlinkSync(path);
}
