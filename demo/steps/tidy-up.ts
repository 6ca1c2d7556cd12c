import { existsSync, rmSync } from "node:fs";
import { within } from "../../test/support/processes/deadline.js";
import type { Scope } from "../../test/support/processes/scope.js";
import type { Processes } from "../processes/processes.js";
import type { Show } from "../report/show.js";
import type { Tunnel } from "./tunnel.js";

/** Agents and server end by themselves when asked; the props around them are simply ended. */
export async function tidyUp(
  processes: Processes,
  { server, agents }: Tunnel,
  scope: Scope,
  folder: string,
  show: Show,
): Promise<void> {
  for (const actors of [[...agents.values()], [server.process]]) {
    for (const actor of actors) actor.kill("SIGTERM");
    const codes = await within(8_000, "agents and server to end", Promise.all(actors.map(({ exited }) => exited)));
    if (codes.some((code) => code !== 0)) throw new Error(`asked to end, they ended with ${codes.join(", ")}`);
  }
  show.note("agents and server ended by themselves when asked, exit code 0");
  await processes.close();
  await scope.close();
  rmSync(folder, { recursive: true, force: true });
  const left = processes.all.filter(({ pid }) => existsSync(`/proc/${pid}`));
  if (left.length > 0 || existsSync(folder)) throw new Error(`left behind: ${left.map(({ name }) => name).join(", ")}`);
  show.result(`${processes.all.length} processes ended, the folder with keys and logs removed`);
}
