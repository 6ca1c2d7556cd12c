import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ConnectFrontend } from "../callers/connect.js";
import type { TestPki } from "./certs.js";
import { NOTICE_WITHIN_MS, START_WITHIN_MS, waitUntil } from "./deadline.js";
import { executable, type Origin } from "./executables.js";
import { type Answer, get } from "./http.js";
import { freePorts, portOpen } from "./ports.js";
import { type RunningProcess, startProcess } from "./process.js";

/** The three frontends every deployment uses one of. */
export type FrontendKind = "grpc-uds" | "connect-uds" | "connect-tcp";

/** Where a server listens; kept over restarts, as a real one keeps its address. */
export interface ServerPlace {
  readonly frontend: FrontendKind;
  readonly udsPath: string;
  readonly frontendPort: number;
  readonly agentPort: number;
  readonly healthPort: number;
  readonly adminPort: number;
}

export interface ServerOptions {
  readonly origin: Origin;
  readonly place: ServerPlace;
  readonly pki: TestPki;
  /** Further flags; a repeated scalar flag overrides ours. */
  readonly flags?: readonly string[];
  readonly name?: string;
  /** A command with arguments that starts the program behind it: `prlimit --nofile=256`, say. */
  readonly through?: readonly string[];
}

export interface ServerProcess {
  readonly process: RunningProcess;
  readonly place: ServerPlace;
  readyz(): Promise<Answer>;
  /** At least one agent is connected. */
  untilReady(withinMs?: number): Promise<void>;
  /** Noticed that no agent is left. */
  untilAlone(withinMs?: number): Promise<void>;
}

export async function choosePlace(frontend: FrontendKind, dir: string): Promise<ServerPlace> {
  const [frontendPort, agentPort, healthPort, adminPort] = (await freePorts(4)) as [number, number, number, number];
  return { frontend, udsPath: join(dir, "frontend.sock"), frontendPort, agentPort, healthPort, adminPort };
}

export function serverFlags(place: ServerPlace, pki: TestPki): string[] {
  const mode = place.frontend === "grpc-uds" ? "grpc" : "http-connect";
  const frontend =
    place.frontend === "connect-tcp"
      ? [
          `--server-port=${place.frontendPort}`,
          "--server-bind-address=127.0.0.1",
          `--server-cert=${pki.frontend.cert}`,
          `--server-key=${pki.frontend.key}`,
          `--server-ca-cert=${pki.frontend.ca}`,
        ]
      : ["--server-port=0", `--uds-name=${place.udsPath}`];
  return [
    `--mode=${mode}`,
    ...frontend,
    `--agent-port=${place.agentPort}`,
    "--agent-bind-address=127.0.0.1",
    `--cluster-cert=${pki.cluster.cert}`,
    `--cluster-key=${pki.cluster.key}`,
    `--cluster-ca-cert=${pki.cluster.ca}`,
    `--health-port=${place.healthPort}`,
    "--health-bind-address=127.0.0.1",
    `--admin-port=${place.adminPort}`,
    "--admin-bind-address=127.0.0.1",
  ];
}

/** Starts a server and waits until all its frontends are open; agents may come later. */
export async function startServer(options: ServerOptions): Promise<ServerProcess> {
  const { origin, place, pki, flags = [], through = [], name } = options;
  const program = executable(origin, "proxy-server");
  const [command = "", ...args] = [...through, program, ...serverFlags(place, pki), ...flags];
  const process = startProcess({ name: name ?? `proxy-server (${origin})`, command, args });
  const context = () => `\n${process.log.tail()}`;
  const listening = async () =>
    (await get(place.healthPort, "/healthz")).status === 200 &&
    (await portOpen(place.agentPort)) &&
    (place.frontend === "connect-tcp" ? await portOpen(place.frontendPort) : existsSync(place.udsPath));
  try {
    await process.untilReady("it listened", () =>
      waitUntil(`${process.name} to listen`, listening, { withinMs: START_WITHIN_MS, context }),
    );
  } catch (reason) {
    await process.close();
    throw reason;
  }
  const readyz = () => get(place.healthPort, "/readyz");
  const until = async (what: string, status: number, withinMs: number) => {
    await waitUntil(`${process.name} ${what}`, async () => (await readyz()).status === status, { withinMs, context });
  };
  return {
    process,
    place,
    readyz,
    untilReady: (withinMs = NOTICE_WITHIN_MS) => until("to have an agent", 200, withinMs),
    untilAlone: (withinMs = NOTICE_WITHIN_MS) => until("to notice that its agents are gone", 500, withinMs),
  };
}

/** How a CONNECT caller enters; gRPC callers need only `place.udsPath`. */
export function connectFrontend(place: ServerPlace, pki: TestPki): ConnectFrontend {
  if (place.frontend === "grpc-uds") throw new Error("this server has no CONNECT frontend");
  return place.frontend === "connect-uds"
    ? { transport: "uds", path: place.udsPath }
    : { transport: "tcp", host: "127.0.0.1", port: place.frontendPort, certs: pki.caller };
}
