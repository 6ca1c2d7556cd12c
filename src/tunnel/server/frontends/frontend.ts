/** A frontend: one listener of one kind, on a Unix socket or on TCP with TLS. */
import net, { type Server, type Socket } from "node:net";
import type { SecureContextOptions } from "node:tls";
import type { Connections, ListenerLimits } from "../../../base/connections.js";
import { listenOn, listenOnSocketFile, type OpenSocketFile } from "../../../base/listen.js";
import { ShortLivedSet } from "../../../base/short-lived.js";
import { callerAccepted, streamError } from "../../events/channels.js";
import { goCodeName } from "../../link/grpc-status.js";
import { acceptCall, createGrpcListener, type GrpcListener, type IncomingCall } from "../../link/listener.js";
import type { SegmentCounters } from "../../link/packet-meter.js";
import { PacketStream } from "../../link/packet-stream.js";
import { createTlsListener, type PeerRefusal } from "../../link/tls-listener.js";
import { CALLER_WINDOW_BYTES, MAX_CALLER_STREAMS } from "../../link/tuning.js";
import type { ListenerConfig } from "../config.js";
import type { Switchboard } from "../switchboard.js";
import { ConnectCaller } from "./connect-caller.js";
import { GrpcCaller } from "./grpc-caller.js";

export interface FrontendListenerOptions {
  readonly board: Switchboard;
  readonly config: ListenerConfig;
  /** Absent on Unix sockets. */
  readonly tls?: SecureContextOptions;
  readonly keepaliveMs: number;
  readonly received: SegmentCounters;
  readonly sent: SegmentCounters;
  /** Where agents belong, for those that come here. */
  readonly agentsAt: string;
  readonly onRefused: (peer: PeerRefusal) => void;
}

export interface FrontendListener {
  readonly config: ListenerConfig;
  readonly server: Server;
  /** Proxy streams or CONNECT requests in progress. */
  readonly open: number;
  /** Whether bytes for a caller still wait for its connection to take them. */
  readonly flushing: boolean;
  /** Whether a call of less than so long ago has not dialled yet. */
  hasNewcomers(withinMs: number): boolean;
  setSecureContext(options: SecureContextOptions): void;
  /** No new callers; those under way may finish. */
  drain(): void;
  /** Ends the streams of callers whose tunnels are over, once they have read everything; sockets end with their tunnels. */
  end?(): void;
  destroy(): void;
}

export function createFrontend(options: FrontendListenerOptions): FrontendListener {
  return options.config.mode === "grpc" ? grpcFrontend(options) : connectFrontend(options);
}

function grpcFrontend({
  board,
  config,
  tls: secure,
  keepaliveMs,
  received,
  sent,
  agentsAt,
  onRefused,
}: FrontendListenerOptions): FrontendListener {
  const callers = new ShortLivedSet<GrpcCaller>();
  const onCall = (call: IncomingCall): void => {
    call.admitted();
    const { remote, tlsSocket } = call;
    callerAccepted.publish({ source: board.source, listener: "grpc frontend", remote, tlsSocket });
    acceptCall(call.stream);
    const caller = new GrpcCaller(
      board,
      (owner) => new PacketStream(call.stream, owner, { received, sent }),
      (end) => {
        leave();
        if (end.status === 0) return;
        const code = goCodeName(end.status);
        streamError.publish({ source: board.source, segment: "from_client", code, packetType: "Unknown" });
      },
    );
    const leave = callers.add(caller);
  };
  const listener: GrpcListener = createGrpcListener({
    runtime: board.runtime,
    method: "/ProxyService/Proxy",
    keepaliveMs,
    streamWindowBytes: CALLER_WINDOW_BYTES,
    maxStreams: MAX_CALLER_STREAMS,
    onCall,
    refusesCalls: () => board.refuses,
    onRefused,
    misdirectedMethods: {
      "/AgentService/Connect": `is an agent, and agents connect to ${agentsAt}, not to a frontend`,
    },
    ...(secure === undefined ? {} : { tls: secure }),
  });
  return {
    config,
    server: listener.server,
    get open() {
      return callers.size;
    },
    get flushing() {
      for (const { stream } of callers) if (stream.queuedBytes > 0) return true;
      return false;
    },
    hasNewcomers(withinMs) {
      const since = board.runtime.now() - withinMs;
      for (const caller of callers) if (!caller.hasAsked && caller.calledAt > since) return true;
      return false;
    },
    setSecureContext: (context) => listener.setSecureContext(context),
    drain: () => listener.drain(),
    end() {
      for (const { stream } of callers) stream.end();
    },
    destroy: () => listener.destroy(),
  };
}

function connectFrontend({ board, config, tls: secure, onRefused }: FrontendListenerOptions): FrontendListener {
  const sockets = new ShortLivedSet<Socket>();
  const onSocket = (socket: Socket): void => {
    socket.once("close", sockets.add(socket));
    socket.setNoDelay(true);
    new ConnectCaller(socket, board, tlsListener?.trust, onRefused);
  };
  // Half-open, so that a caller's FIN does not throw away what still travels towards it.
  const allowHalfOpen = true;
  const tlsListener =
    secure && createTlsListener({ context: secure, protocol: "http/1.1", allowHalfOpen, onPeer: onSocket, onRefused });
  const server: Server = tlsListener?.server ?? net.createServer({ allowHalfOpen }, onSocket);
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
    hasNewcomers: () => false,
    setSecureContext: (context) => tlsListener?.setSecureContext(context),
    drain: () => server.close(),
    destroy() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

/** Starts listening; resolves to the address. */
export async function openFrontend(
  { config, server }: FrontendListener,
  limits: ListenerLimits,
  connections: Connections,
): Promise<{ readonly address: string; readonly socket?: OpenSocketFile }> {
  const what = `${config.mode} frontend`;
  if (config.transport === "tcp") {
    const { host, port } = config;
    await listenOn(server, what, { host, port }, limits, connections);
    return { address: `${host}:${port}` };
  }
  const { path, fileMode, owner, deleteExisting: replace } = config;
  const file = { path, fileMode, owner, replace };
  return { address: path, socket: await listenOnSocketFile(server, what, file, limits, connections) };
}
