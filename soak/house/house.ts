import { randomBytes } from "node:crypto";
import { mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startGrpcDialer } from "../../test/support/callers/grpc-dialer.js";
import { makePki } from "../../test/support/processes/certs.js";
import { peersAvailable, theirs } from "../../test/support/processes/executables.js";
import { asLastResort } from "../../test/support/processes/last-resort.js";
import { freePort } from "../../test/support/processes/ports.js";
import { Scope } from "../../test/support/processes/scope.js";
import { type BlackHole, startBlackHole } from "../../test/support/targets/black-hole.js";
import type { Court } from "../watch/court.js";
import type { LogLines } from "../watch/log-lines.js";
import { AgentPost } from "./agent-post.js";
import { copyExecutables } from "./build.js";
import { Daemon } from "./daemon.js";
import { Doors } from "./doors.js";
import { Relay } from "./relay.js";
import { ServerPost } from "./server-post.js";

export const SERVERS = 2;
export const AGENTS = 2;

/** Two servers, two agents, a relay on each of the four ways between them, and what callers need to come in. */
export interface House {
  readonly servers: readonly ServerPost[];
  readonly agents: readonly AgentPost[];
  readonly daemons: readonly Daemon[];
  /** By server, then by agent. */
  readonly relays: readonly (readonly Relay[])[];
  readonly doors: Doors;
  /** Connecting there neither succeeds nor fails. */
  readonly blackHole: BlackHole;
  /** Nobody listens there. */
  readonly deafPort: number;
  readonly tokenFile: string;
  close(): Promise<void>;
}

/** `dir` keeps the logs; everything else in it goes when the house is closed. */
export async function openHouse(dir: string, court: Court, lines: LogLines): Promise<House> {
  const scope = new Scope();
  try {
    return await assemble(dir, court, lines, scope);
  } catch (reason) {
    await scope.close();
    throw reason;
  }
}

async function assemble(dir: string, court: Court, lines: LogLines, scope: Scope): Promise<House> {
  const works = join(dir, "works");
  mkdirSync(works, { recursive: true });
  const remove = () => rmSync(works, { recursive: true, force: true });
  scope.defer(remove);
  asLastResort(remove);
  const bin = copyExecutables(works);
  const pki = makePki(works);
  const token = randomBytes(16).toString("hex");
  const tokenFile = join(works, "admin-token");
  writeFileSync(tokenFile, token, { mode: 0o600 });

  const daemon = (program: "proxy-server" | "proxy-agent", name: string) =>
    scope.use(
      new Daemon({
        name,
        command: join(bin, program),
        logFile: join(dir, `${name}.log`),
        onLine: (line) => lines.read(name, line),
        onUnexpectedExit: ({ code, signal }) =>
          court.violation(`${name} ended unasked: ${signal ?? `exit code ${code}`}`),
      }),
    );
  const shared = { dir: works, pki, token };
  const servers: ServerPost[] = [];
  for (let index = 0; index < SERVERS; index++) {
    const post = daemon("proxy-server", `server-${index + 1}`);
    servers.push(await ServerPost.prepare(index, post, { ...shared, servers: SERVERS }));
  }
  const relays: Relay[][] = [];
  for (const server of servers) {
    const row: Relay[] = [];
    for (let agent = 0; agent < AGENTS; agent++) {
      row.push(scope.use(await Relay.open(await freePort(), server.agentPort)));
    }
    relays.push(row);
  }
  const agents: AgentPost[] = [];
  for (let index = 0; index < AGENTS; index++) {
    const serverPorts = relays.map((row) => row[index]!.port);
    agents.push(
      await AgentPost.prepare(index, daemon("proxy-agent", `agent-${index + 1}`), { ...shared, serverPorts }),
    );
  }
  await Promise.all(servers.map((server) => server.start()));
  await Promise.all(agents.map((agent) => agent.start()));

  const withGo = peersAvailable("grpc-dialer");
  const doors: ConstructorParameters<typeof Doors>[0][number][] = [];
  for (const { connectPath, grpcPath } of servers) {
    const goDialer = withGo ? await startGrpcDialer(scope, theirs("grpc-dialer"), grpcPath) : undefined;
    doors.push({ connectPath, grpcPath, goDialer });
  }
  const blackHole = scope.use(await startBlackHole());
  const deafPort = await freePort();
  return {
    servers,
    agents,
    daemons: [...servers, ...agents].map((post) => post.daemon),
    relays,
    doors: new Doors(doors),
    blackHole,
    deafPort,
    tokenFile,
    close: () => scope.close(),
  };
}
