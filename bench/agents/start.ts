import { fileURLToPath } from "node:url";
import type { TestPki } from "../../test/support/processes/certs.js";
import { type RunningProcess, startProcess } from "../../test/support/processes/process.js";
import type { Scope } from "../../test/support/processes/scope.js";
import { AGENT_DEFAULTS } from "../contenders/pair.js";

const MANY_AGENTS = fileURLToPath(new URL("./many.ts", import.meta.url));
const CONNECT_WITHIN_MS = 120_000;

/** Few processes, and none so full that its own event loop is what is measured. */
export const AGENTS_PER_PROCESS = 100;

export interface ManyAgents {
  readonly pids: readonly number[];
  /** Until the last one had its server, from when its process was ready to begin. */
  readonly connectedSeconds: number;
}

/**
 * So many agents in few processes, all connected when this resolves. Agents in one process wait for each other's handshakes
 * as those on machines of their own do not, so each process has at most `perProcess`.
 */
export async function startManyAgents(
  scope: Scope,
  { count, perProcess }: { readonly count: number; readonly perProcess: number },
  serverPort: number,
  pki: TestPki,
): Promise<ManyAgents> {
  const flags = [
    "--proxy-server-host=127.0.0.1",
    `--proxy-server-port=${serverPort}`,
    `--agent-cert=${pki.agent.cert}`,
    `--agent-key=${pki.agent.key}`,
    `--ca-cert=${pki.agent.ca}`,
    ...AGENT_DEFAULTS,
  ];
  const processes: Promise<{ process: RunningProcess; seconds: number }>[] = [];
  for (let first = 0; first < count; first += perProcess) {
    processes.push(startSome(scope, first, Math.min(perProcess, count - first), flags));
  }
  const started = await Promise.all(processes);
  return {
    pids: started.map(({ process }) => process.pid),
    connectedSeconds: Math.max(...started.map(({ seconds }) => seconds)),
  };
}

async function startSome(scope: Scope, first: number, count: number, flags: readonly string[]) {
  const agents = scope.use(
    startProcess({
      name: `${count} agents`,
      command: process.execPath,
      args: ["--import", "tsx", MANY_AGENTS, String(first), String(count), ...flags],
    }),
  );
  let seconds = Number.NaN;
  await agents.untilReady("all were connected", async () => {
    seconds = Number((await agents.log.waitFor(/connected (\S+)/, CONNECT_WITHIN_MS))[1]);
  });
  return { process: agents, seconds };
}
