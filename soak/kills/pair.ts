import { freePort } from "../../test/support/processes/ports.js";
import type { Scope } from "../../test/support/processes/scope.js";
import { AgentProcess } from "../fixture/agent-process.js";
import type { Daemon } from "../fixture/daemon.js";
import { doorsOf } from "../fixture/fixture.js";
import type { ServerDoors } from "../fixture/frontends.js";
import { ServerProcess } from "../fixture/server-process.js";
import { TlsDoor } from "../fixture/tls-door.js";
import type { Works } from "../fixture/works.js";
import { Hub } from "../load/hub.js";
import type { Random } from "../random.js";
import type { Court } from "../watch/court.js";
import type { Kill } from "./kill.js";

export type Role = "server" | "agent";

/** Lost servers are looked for soon: how long agents take for that as shipped is the other soak's business. */
const QUICK = ["--sync-interval=200ms", "--sync-interval-cap=500ms"];
/** One server for each agent: nothing else may serve while one of the two is away. */
const SERVERS = 1;
/** None: a server cuts at once, and an agent at a second signal. */
const DRAIN_SECONDS = [0, 1, 2] as const;

/** A server and its agent. One of them is killed again and again, the other one lives through the run. */
export class Pair {
  readonly index: number;
  readonly mortal: Role;
  readonly server: ServerProcess;
  readonly agent: AgentProcess;
  readonly hub: Hub;
  readonly doors: ServerDoors;
  readonly kills: Kill[] = [];
  /** With which limit the mortal one drains when it is terminated. */
  drainSeconds = 0;

  private constructor(parts: Pick<Pair, "index" | "mortal" | "server" | "agent" | "hub" | "doors">) {
    this.index = parts.index;
    this.mortal = parts.mortal;
    this.server = parts.server;
    this.agent = parts.agent;
    this.hub = parts.hub;
    this.doors = parts.doors;
  }

  static async open(index: number, works: Works, court: Court, scope: Scope, random: Random): Promise<Pair> {
    const { shared, daemon } = works;
    const { frontend, caller } = shared.pki;
    const tlsPort = await freePort();
    const server = await ServerProcess.prepare(index, daemon("proxy-server", `server-${index + 1}`), {
      ...shared,
      servers: SERVERS,
      flags: [
        `--listen=http-connect+tcp:127.0.0.1:${tlsPort},cert=${frontend.cert},key=${frontend.key},ca=${frontend.ca}`,
      ],
    });
    const agent = await AgentProcess.prepare(index, daemon("proxy-agent", `agent-${index + 1}`), {
      ...shared,
      serverPorts: [server.agentPort],
      flags: QUICK,
    });
    const hub = scope.use(
      await Hub.open((address) => court.violation(`a connection to ${address} was never closed by its agent`)),
    );
    const mortal = index % 2 === 0 ? "agent" : "server";
    const tls = scope.use(await TlsDoor.open(tlsPort, caller));
    await server.start();
    const [door] = await doorsOf([server], scope);
    const pair = new Pair({ index, mortal, server, agent, hub, doors: { ...door!, tls } });
    await pair.start("agent", random);
    return pair;
  }

  /** Both, as a census counts them. */
  get servers(): readonly ServerProcess[] {
    return [this.server];
  }

  get agents(): readonly AgentProcess[] {
    return [this.agent];
  }

  get daemons(): readonly Daemon[] {
    return [this.server.daemon, this.agent.daemon];
  }

  /** Up when this resolves, with a limit for its next drain that is chosen now. */
  async start(role: Role, random: Random): Promise<void> {
    const seconds = random.pick(DRAIN_SECONDS);
    if (role === this.mortal) this.drainSeconds = seconds;
    if (role === "agent") await this.agent.start(seconds);
    else await this.server.start([`--graceful-shutdown-timeout=${seconds}s`]);
  }

  /** Kills that a stream between these moments may have met. */
  killsBetween(from: number, to: number): readonly Kill[] {
    return this.kills.filter((kill) => kill.from <= to && (kill.until ?? Number.POSITIVE_INFINITY) >= from);
  }
}
