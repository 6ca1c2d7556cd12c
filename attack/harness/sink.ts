/** The sink's process: accepts what the attacked process would accept, takes the same bytes and ignores them. */
import { readFileSync, rmSync } from "node:fs";
import { type AddressInfo, createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { join } from "node:path";
import { connect as connectTls, createServer as createTlsServer } from "node:tls";
import type { HostileListener, ListenerName, Target } from "../attack.js";
import { settings } from "../raw/frames.js";
import { acceptCall, CONNECT_PATH } from "../raw/headers.js";
import { RawPeer } from "../raw/peer.js";
import type { Place } from "../raw/place.js";
import { answerParent } from "./answer.js";

export interface SinkOrder {
  /** Where its Unix sockets go. */
  readonly dir: string;
  readonly target: Target;
  /** The certificates that listeners with TLS show. */
  readonly identities: Partial<
    Record<ListenerName, { readonly cert: string; readonly key: string; readonly ca?: string }>
  >;
}

const servers: Server[] = [];
let agent: { stop(): void } | undefined;

answerParent({
  /** Closes what was open before. */
  open: async ({ dir, target, identities }: SinkOrder): Promise<Target> => {
    for (const server of servers.splice(0)) server.close();
    const listeners: Partial<Record<ListenerName, Place>> = {};
    for (const [name, place] of Object.entries(target.listeners) as [ListenerName, Place][]) {
      listeners[name] = await sinkFor(name, place, join(dir, `sink-${name}`), identities[name]);
    }
    return { ...target, listeners };
  },
  /** Plays the agent that a hostile server waits for. */
  agent: (listener: HostileListener & { readonly agentCert: string; readonly agentKey: string }) => {
    agent = playAgent(listener);
  },
  noAgent: () => agent?.stop(),
});

async function sinkFor(
  name: ListenerName,
  place: Place,
  path: string,
  identity: { readonly cert: string; readonly key: string; readonly ca?: string } | undefined,
): Promise<Place> {
  const greets = name === "agents" || name === "grpc-uds" || name === "grpc-tls";
  const accept = (socket: Socket) => swallow(socket, greets);
  if (place.kind === "uds") {
    rmSync(path, { force: true });
    await listening(createServer(accept), { path });
    return { ...place, path };
  }
  const server =
    place.kind === "tcp"
      ? createServer(accept)
      : createTlsServer(
          {
            cert: readFileSync(identity!.cert),
            key: readFileSync(identity!.key),
            ...(identity!.ca !== undefined && { ca: readFileSync(identity!.ca), requestCert: true }),
            ...(place.alpn && { ALPNProtocols: [...place.alpn] }),
          },
          accept,
        );
  await listening(server, { port: 0, host: "127.0.0.1" });
  return { ...place, port: (server.address() as AddressInfo).port };
}

function listening(server: Server, where: ListenOptions): Promise<void> {
  servers.push(server);
  server.on("tlsClientError", () => {});
  return new Promise((resolve) => server.listen({ ...where, backlog: 4096 }, resolve));
}

/** Answers once as if stream 1 had been accepted, so that an attacker that waits for it goes on. */
function swallow(socket: Socket, greets: boolean): void {
  socket.on("error", () => {});
  if (greets) socket.once("data", () => socket.write(Buffer.concat([settings(), acceptCall(1, { serverid: "sink" })])));
  socket.resume();
}

function playAgent({ port, ca, agentCert, agentKey }: HostileListener & { agentCert: string; agentKey: string }): {
  stop(): void;
} {
  let stopped = false;
  let socket: Socket | undefined;
  const tls = {
    ca: readFileSync(ca),
    cert: readFileSync(agentCert),
    key: readFileSync(agentKey),
    ALPNProtocols: ["h2"],
  };
  const dial = () => {
    if (stopped) return;
    const link = connectTls({ host: "127.0.0.1", port, ...tls }, () => {
      const peer = new RawPeer(link, "client");
      peer.greet();
      peer.open(1, CONNECT_PATH, { agentid: "sink" });
      link.removeAllListeners("data");
      link.resume();
    });
    socket = link;
    link.on("error", () => {});
    link.once("close", () => setTimeout(dial, 100));
  };
  dial();
  return {
    stop() {
      stopped = true;
      socket?.destroy();
    },
  };
}
