import { startAgent } from "../../test/support/processes/agent.js";
import type { Origin } from "../../test/support/processes/executables.js";
import { Scope } from "../../test/support/processes/scope.js";
import {
  choosePlace,
  type FrontendKind,
  type ServerPlace,
  type ServerProcess,
  startServer,
} from "../../test/support/processes/server.js";
import type { Route } from "../load/drive.js";
import { type Contender, type ContenderKind, oursIn } from "./contender.js";
import type { Ground } from "./ground.js";

/** Go without its log; ours as shipped. */
export const roleFlags = (origin: Origin): readonly string[] => (origin === "theirs" ? ["--v=0"] : []);

/** The tests' shorter intervals taken back: agents run with the defaults. */
export const AGENT_DEFAULTS = ["--sync-interval=1s", "--sync-interval-cap=10s", "--probe-interval=1s"];

export function origins(name: ContenderKind["name"]): { server: Origin; agent: Origin } {
  const ours = oursIn(name);
  return { server: ours.server ? "ours" : "theirs", agent: ours.agent ? "ours" : "theirs" };
}

export interface Pair extends Contender {
  readonly place: ServerPlace;
}

/** A server and an agent, each a process of its own, with mutual TLS between them. */
export async function startPair(
  { name, frontend }: ContenderKind,
  ground: Ground,
  serverFlags: readonly string[] = [],
  agentFlags: readonly string[] = [],
): Promise<Pair> {
  const scope = new Scope();
  try {
    const { server: serverOrigin, agent: agentOrigin } = origins(name);
    const server = await startServerOf(scope, serverOrigin, frontend, ground, serverFlags);
    const agent = await startAgent({
      origin: agentOrigin,
      serverPort: server.place.agentPort,
      pki: ground.pki,
      flags: [...AGENT_DEFAULTS, ...roleFlags(agentOrigin), ...agentFlags],
    });
    scope.use(agent.process);
    await agent.untilReady();
    await server.untilReady();
    return {
      name,
      route: routeOf(server.place, ground),
      pids: [server.process.pid, agent.process.pid],
      server: server.process.pid,
      agent: agent.process.pid,
      place: server.place,
      close: () => scope.close(),
    };
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}

export async function startServerOf(
  scope: Scope,
  origin: Origin,
  frontend: FrontendKind,
  ground: Ground,
  flags: readonly string[] = [],
): Promise<ServerProcess> {
  const place = await choosePlace(frontend, scope.tempDir());
  const server = await startServer({ origin, place, pki: ground.pki, flags: [...roleFlags(origin), ...flags] });
  scope.use(server.process);
  return server;
}

export function routeOf(place: ServerPlace, ground: Ground): Route {
  const overTcp = place.frontend === "connect-tcp";
  return {
    frontend: place.frontend,
    address: overTcp ? `127.0.0.1:${place.frontendPort}` : place.udsPath,
    target: ground.target.address,
    ...(overTcp ? { certs: ground.pki.caller } : {}),
  };
}
