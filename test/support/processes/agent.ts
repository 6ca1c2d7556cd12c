import type { TestPki } from "./certs.js";
import { NOTICE_WITHIN_MS, START_WITHIN_MS, waitUntil } from "./deadline.js";
import { executable, type Origin } from "./executables.js";
import { type Answer, get } from "./http.js";
import { freePorts } from "./ports.js";
import { type RunningProcess, startProcess } from "./process.js";

export interface AgentOptions {
  readonly origin: Origin;
  /** The agent listener of the server. */
  readonly serverPort: number;
  readonly pki: TestPki;
  readonly id?: string;
  /** Further flags; a repeated scalar flag overrides ours. */
  readonly flags?: readonly string[];
  /** A command with arguments that starts the program behind it: `prlimit --nofile=64`, say. */
  readonly through?: readonly string[];
}

export interface AgentProcess {
  readonly process: RunningProcess;
  readonly id: string;
  readonly healthPort: number;
  readyz(): Promise<Answer>;
  /** Connected to a server. */
  untilReady(withinMs?: number): Promise<void>;
  /** Noticed that it has no server left. */
  untilAlone(withinMs?: number): Promise<void>;
}

let started = 0;

/** Intervals are short so that a reconnect takes tenths of a second; everything else is as deployed. */
export async function startAgent(options: AgentOptions): Promise<AgentProcess> {
  const { origin, serverPort, pki, id, flags = [], through = [] } = options;
  const [command = "", ...before] = [...through, executable(origin, "proxy-agent")];
  const [healthPort, adminPort] = (await freePorts(2)) as [number, number];
  const agentId = id ?? `${origin}-agent-${++started}`;
  const process = startProcess({
    name: `proxy-agent ${agentId}`,
    command,
    args: [
      ...before,
      "--proxy-server-host=127.0.0.1",
      `--proxy-server-port=${serverPort}`,
      `--agent-cert=${pki.agent.cert}`,
      `--agent-key=${pki.agent.key}`,
      `--ca-cert=${pki.agent.ca}`,
      `--agent-id=${agentId}`,
      "--health-server-host=127.0.0.1",
      `--health-server-port=${healthPort}`,
      `--admin-server-port=${adminPort}`,
      "--sync-interval=200ms",
      "--sync-interval-cap=500ms",
      "--probe-interval=200ms",
      ...flags,
    ],
  });
  const context = () => `\n${process.log.tail()}`;
  const readyz = () => get(healthPort, "/readyz");
  try {
    const healthy = async () => (await get(healthPort, "/healthz")).status === 200;
    await process.untilReady("it was healthy", () =>
      waitUntil(`${process.name} to be healthy`, healthy, { withinMs: START_WITHIN_MS, context }),
    );
  } catch (reason) {
    await process.close();
    throw reason;
  }
  const until = async (what: string, status: number, withinMs: number) => {
    await waitUntil(`${process.name} ${what}`, async () => (await readyz()).status === status, { withinMs, context });
  };
  return {
    process,
    id: agentId,
    healthPort,
    readyz,
    untilReady: (withinMs = NOTICE_WITHIN_MS) => until("to be connected", 200, withinMs),
    untilAlone: (withinMs = NOTICE_WITHIN_MS) => until("to notice that its server is gone", 503, withinMs),
  };
}
