import type { Socket } from "node:net";
import { readToEnd } from "../callers/bytes.js";
import { askFrontend, connectRequest } from "../callers/connect.js";
import { type GrpcDialer, startGrpcDialer } from "../callers/grpc-dialer.js";
import { type AgentProcess, startAgent } from "./agent.js";
import { makePki, type TestPki } from "./certs.js";
import { type Origin, theirs } from "./executables.js";
import { Scope } from "./scope.js";
import {
  choosePlace,
  connectFrontend,
  type FrontendKind,
  type ServerPlace,
  type ServerProcess,
  startServer,
} from "./server.js";

export interface TunnelOptions {
  readonly server: Origin;
  readonly agent: Origin;
  readonly frontend: FrontendKind;
  /** How many agents to start; 1 unless told. */
  readonly agents?: number;
  readonly serverFlags?: readonly string[];
  readonly agentFlags?: readonly string[];
  /** Commands with arguments that start the server, and the agents, behind them. */
  readonly serverThrough?: readonly string[];
  readonly agentThrough?: readonly string[];
  /** Certificates made before, to save the time; otherwise fresh ones. */
  readonly pki?: TestPki;
}

/** What became of a dial, whichever frontend it went through. */
export type Dialled =
  | { readonly ok: true; readonly socket: Socket; readonly head?: string; readonly bytesBehindHead: number }
  | { readonly ok: false; readonly text: string; readonly status?: number; readonly head?: string };

/** A server and its agents as real processes on loopback, and a way to dial through them. */
export interface Tunnel {
  readonly server: ServerProcess;
  readonly agents: readonly AgentProcess[];
  readonly place: ServerPlace;
  readonly pki: TestPki;
  /** Dials `host:port` as kube-apiserver would through this kind of frontend. */
  dial(target: string): Promise<Dialled>;
  /** Dials and insists on success. */
  open(target: string): Promise<Socket>;
  /** One more agent, connected when this resolves. */
  addAgent(flags?: readonly string[]): Promise<AgentProcess>;
  /** Kills the agents like a crash would; the server has noticed when this resolves. */
  killAgents(): Promise<void>;
  /** Kills the server and starts it again at the same place; the agents are back when this resolves. */
  restartServer(): Promise<void>;
  close(): Promise<void>;
}

export async function startTunnel(options: TunnelOptions): Promise<Tunnel> {
  const scope = new Scope();
  try {
    return await assemble(options, scope);
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}

async function assemble(options: TunnelOptions, scope: Scope): Promise<Tunnel> {
  const dir = scope.tempDir();
  const pki = options.pki ?? makePki(dir);
  const place = await choosePlace(options.frontend, dir);
  const sockets = new Set<Socket>();
  let server = await launchServer();
  let agents: AgentProcess[] = [];

  async function launchServer(): Promise<ServerProcess> {
    const { server: origin, serverFlags: flags = [], serverThrough: through = [] } = options;
    const launched = await startServer({ origin, place, pki, flags, through });
    scope.use(launched.process);
    return launched;
  }

  async function addAgent(flags: readonly string[] = []): Promise<AgentProcess> {
    const agent = await startAgent({
      origin: options.agent,
      serverPort: place.agentPort,
      pki,
      flags: [...(options.agentFlags ?? []), ...flags],
      through: options.agentThrough ?? [],
    });
    scope.use(agent.process);
    agents.push(agent);
    await agent.untilReady();
    await server.untilReady();
    return agent;
  }

  for (let i = 0; i < (options.agents ?? 1); i++) await addAgent();
  const dialFrontend = await frontendDialer(options.frontend, place, pki, scope);
  scope.defer(() => {
    for (const socket of sockets) socket.destroy();
  });

  async function dial(target: string): Promise<Dialled> {
    const dialled = await dialFrontend(target);
    if (dialled.ok) {
      sockets.add(dialled.socket);
      dialled.socket.once("close", () => sockets.delete(dialled.socket));
    }
    return dialled;
  }

  return {
    get server() {
      return server;
    },
    get agents() {
      return agents;
    },
    place,
    pki,
    dial,
    async open(target) {
      const dialled = await dial(target);
      if (!dialled.ok) throw new Error(`${target} could not be dialled: ${dialled.text.slice(0, 500)}`);
      return dialled.socket;
    },
    addAgent,
    async killAgents() {
      const killed = agents;
      agents = [];
      await Promise.all(killed.map((agent) => agent.process.kill()));
      await server.untilAlone();
    },
    async restartServer() {
      await server.process.kill();
      await Promise.all(agents.map((agent) => agent.untilAlone()));
      server = await launchServer();
      await Promise.all(agents.map((agent) => agent.untilReady()));
      await server.untilReady();
    },
    close: () => scope.close(),
  };
}

async function frontendDialer(
  kind: FrontendKind,
  place: ServerPlace,
  pki: TestPki,
  scope: Scope,
): Promise<(target: string) => Promise<Dialled>> {
  if (kind === "grpc-uds") {
    const dialer = await startGrpcDialer(scope, theirs("grpc-dialer"), place.udsPath);
    return (target) => dialGrpc(dialer, target);
  }
  const frontend = connectFrontend(place, pki);
  return async (target) => {
    const { status, head, bytesBehindHead, socket } = await askFrontend(frontend, connectRequest(target));
    if (status === 200) return { ok: true, socket, head, bytesBehindHead };
    if (Number.isNaN(status)) {
      socket.destroy();
      return { ok: false, status, head, text: "the answer does not begin with a status line" };
    }
    const { bytes } = await readToEnd(socket);
    socket.destroy();
    return { ok: false, status, head, text: bytes.toString("utf8") };
  };
}

async function dialGrpc(dialer: GrpcDialer, target: string): Promise<Dialled> {
  const answer = await dialer.dial(target);
  return typeof answer === "string" ? { ok: false, text: answer } : { ok: true, socket: answer, bytesBehindHead: 0 };
}
