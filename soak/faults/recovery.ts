import { waitUntil } from "../../test/support/processes/deadline.js";
import { agentId } from "../fixture/agent-process.js";
import { AGENTS, type Fixture, SERVERS } from "../fixture/fixture.js";
import type { Area } from "../watch/impacts.js";

export interface Link {
  readonly server: number;
  readonly agent: number;
}

/** All links an area has part in. */
export function linksIn({ server, agent }: Area): Link[] {
  const links: Link[] = [];
  for (let s = 0; s < SERVERS; s++) {
    for (let a = 0; a < AGENTS; a++) {
      if ((server ?? s) === s && (agent ?? a) === a) links.push({ server: s, agent: a });
    }
  }
  return links;
}

/** The server has this agent exactly once, and it is no longer draining. */
export async function linkStands(fixture: Pick<Fixture, "servers">, { server, agent }: Link): Promise<boolean> {
  const rows = (await fixture.servers[server]!.agents()).filter((row) => row.id === agentId(agent));
  return rows.length === 1 && rows[0]!.draining === false;
}

/** Rejects with a sentence when a link is not back in time. */
export async function untilLinksStand(fixture: Fixture, area: Area, withinMs: number): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (const link of linksIn(area)) {
    const what = `server ${link.server + 1} to have agent ${link.agent + 1} exactly once again`;
    await waitUntil(what, () => linkStands(fixture, link), {
      withinMs: Math.max(0, Math.round(deadline - performance.now())),
    });
  }
}
