/** An attack on a link is made wherever a link begins: at each listener that speaks HTTP/2, and by a server on an agent. */
import { readFileSync } from "node:fs";
import type { Socket } from "node:net";
import { createServer } from "node:tls";
import type { Attack, HostileListener, Target } from "../attack.js";
import type { Work } from "../harness/work.js";
import { CONNECT_PATH, PROXY_PATH } from "../raw/headers.js";
import { RawPeer } from "../raw/peer.js";

/** An open link: preface and SETTINGS were exchanged; stream 1 is open unless the attacker is a stranger. */
export interface HostileLink {
  readonly peer: RawPeer;
  readonly socket: Socket;
  /** What the attacked process takes its counterpart for. */
  readonly role: "stranger" | "agent" | "caller" | "server";
  /** A stream on which packets may be sent. */
  readonly stream: number;
}

const PLACES = {
  strangers: { fixture: "tokens", against: "agents' listener, before authentication", role: "stranger" },
  agents: { fixture: "server", against: "agents' listener, as an agent", role: "agent" },
  grpc: { fixture: "server", against: "gRPC frontend, as a caller", role: "caller" },
  server: { fixture: "agent", against: "agent, as its server", role: "server" },
} as const;

type PlaceName = keyof typeof PLACES;

export interface LinkAttack extends Omit<Attack, "against" | "fixture" | "run"> {
  /** Where it can be made; everywhere by default. */
  readonly places?: readonly PlaceName[];
  /** Where it is made in a short run. */
  readonly shortPlaces: readonly PlaceName[];
  /** What the attacker says of itself as an agent. */
  readonly metadata?: Readonly<Record<string, string>>;
  /** A new link after each one that has ended. */
  readonly again?: boolean;
  onLink(link: HostileLink, work: Work, target: Target): Promise<void>;
}

const EVERYWHERE: readonly PlaceName[] = ["strangers", "agents", "grpc", "server"];

export function linkAttack(declared: LinkAttack): Attack[] {
  const { places = EVERYWHERE, shortPlaces, metadata = {}, again = false, onLink, ...attack } = declared;
  return places.map((at) => {
    const { fixture, against, role } = PLACES[at];
    return {
      ...attack,
      ...{ name: `${attack.name}-${at}`, fixture, against, long: !shortPlaces.includes(at) },
      upstream: attack.upstream !== false,
      async run(target, work) {
        const each = async () => {
          const link =
            role === "server" ? await awaitAgent(target.hostile!, work) : await openLink(target, role, work, metadata);
          if (!link) return;
          await onLink(link, work, target);
          // Whether the other side ends it is part of the result.
          await work.until(() => link.socket.destroyed);
          if (!attack.mustEnd) return;
          // Who does not read does not see an end either.
          link.socket.resume();
          await work.untilEnded();
        };
        do await each();
        while (again && !work.over);
      },
    };
  });
}

async function openLink(
  target: Target,
  role: "stranger" | "agent" | "caller",
  work: Work,
  metadata: Readonly<Record<string, string>>,
): Promise<HostileLink | undefined> {
  const place = target.listeners[role === "caller" ? "grpc-uds" : "agents"]!;
  const socket = await work.connect(place);
  if (!socket) return undefined;
  const peer = new RawPeer(socket, "client");
  peer.greet();
  if (role !== "stranger") {
    let accepted = false;
    peer.onHeaders = () => {
      accepted = true;
    };
    peer.open(
      1,
      role === "caller" ? PROXY_PATH : CONNECT_PATH,
      role === "agent" ? { agentid: "hostile", ...metadata } : {},
    );
    // A server answers a caller's stream with its first packet only.
    if (role === "agent") await work.until(() => accepted);
  }
  return { peer, socket, role, stream: 1 };
}

/** An agent tries again after a while. */
const AGENT_WITHIN_MS = 8_000;

/** The next connection of an agent; its stream is accepted as a server would. */
export function awaitAgent(listener: HostileListener, work: Work): Promise<HostileLink | undefined> {
  return new Promise((resolve) => {
    const server = createServer(
      {
        cert: readFileSync(listener.cert),
        key: readFileSync(listener.key),
        ca: readFileSync(listener.ca),
        ...{ requestCert: true, ALPNProtocols: ["h2"] },
      },
      (socket) => {
        server.close();
        work.adopt(socket);
        const peer = new RawPeer(socket, "server");
        peer.greet();
        peer.onHeaders = (stream) => {
          peer.accept(stream, { serverid: "hostile", servercount: "2" });
          clearTimeout(late);
          work.begin();
          resolve({ peer, socket, role: "server", stream });
        };
      },
    );
    server.on("tlsClientError", () => {});
    server.on("error", (reason) => work.violation(`the hostile server could not listen: ${reason.message}`));
    server.listen(listener.port, "127.0.0.1");
    const late = setTimeout(() => {
      server.close();
      resolve(undefined);
    }, AGENT_WITHIN_MS);
  });
}
