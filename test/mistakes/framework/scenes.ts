/** Scenes that many rows share. */
import { waitUntil } from "../../support/processes/deadline.js";
import type { RunningProcess } from "../../support/processes/process.js";
import type { Mistake, Scene } from "./row.js";
import { type AgentStart, type Outcome, PORT, type ServerStart, type Stage } from "./stage.js";

export type RowOf<Group extends Mistake["group"]> = Omit<Mistake, "group" | "play"> & { readonly group?: Group };

const END_WITHIN_MS = 20_000;

/** A process that does not start because of the mistake: what it prints is all that one sees. */
export async function endsAtOnce(
  isWrong: boolean,
  start: (isDoomed: boolean) => Promise<RunningProcess>,
): Promise<Scene> {
  const process = await start(isWrong);
  if (isWrong) await waitUntil("the process to end by itself", () => !process.running, { withinMs: END_WITHIN_MS });
  return { places: { output: () => process.log.text }, works: () => process.running };
}

/** A command run to its end: its output and its exit code. */
export async function command(run: () => Promise<Outcome>, more: Scene["places"] = {}): Promise<Scene> {
  let last = await run();
  return {
    places: {
      output: async () => {
        last = await run();
        return last.text;
      },
      ...more,
    },
    works: () => last.code === 0,
  };
}

export const serverPlaces = (stage: Stage, server: RunningProcess): Scene["places"] => ({
  "server log": () => server.log.text,
  "server findings": () => stage.admin(PORT.serverAdmin, "findings"),
  "server doctor": () => stage.doctor("--role", "server"),
});

export const agentPlaces = (stage: Stage, agent: RunningProcess): Scene["places"] => ({
  "agent log": () => agent.log.text,
  "agent readyz": () => stage.get(PORT.agentHealth, "/readyz?verbose"),
  "agent findings": () => stage.admin(PORT.agentAdmin, "findings"),
  doctor: () => stage.doctor("--role", "agent"),
});

/** Server, agent and a target behind them. */
export async function tunnel(
  stage: Stage,
  { server = {}, agent = {} }: { server?: ServerStart; agent?: AgentStart } = {},
) {
  const serverProcess = await stage.server(server);
  const agentProcess = await stage.agent(agent);
  await stage.target();
  return { server: serverProcess, agent: agentProcess };
}

export const trace = (stage: Stage, target: string, ...flags: readonly string[]): Promise<Outcome> =>
  stage.drawbridge(
    ...["trace", target, "--frontend", `http-connect+uds:${stage.socket}`],
    ...["--admin", `http://127.0.0.1:${PORT.serverAdmin}`, "--token-file", stage.adminToken, ...flags],
  );
