/** `drawbridge drain AGENT`: let a server prefer other agents for new dials. */
import { DrawbridgeError } from "../../base/errors/error.js";
import { sum } from "../../base/sum.js";
import { plainText } from "../../base/text.js";
import type { AgentPeer, Page } from "../../insight/observe/admin/contract.js";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import { suggestion } from "../flags/suggestion.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { adminPortFlags, openAdminPort, SERVER } from "../tunnel/admin-port.js";

interface Drained {
  readonly agent: string;
  /** Those that were open at that moment, and stay. */
  readonly tunnels: number;
  /** Agents that new dials go to. */
  readonly others: number;
}

export default defineCommand({
  purpose: `Lets a server prefer other agents for new dials, before the host of an agent is taken down. Open tunnels stay as they
are. It lasts until that agent connects again. Where no other agent fits a target, the draining one still gets its dials.`,
  words: "AGENT",
  examples: ["drawbridge drain node-1"],
  flags: adminPortFlags,
  async run(flags, { words }) {
    const agent = onlyWord(words, "the agent's ID");
    return drain(await openAdminPort(flags, SERVER), agent);
  },
  show: drainedText,
});

/** Throws DB_AGENT_UNKNOWN. */
export async function drain(port: Pick<AdminPort, "address" | "find" | "post">, agent: string): Promise<Drained> {
  const all = await agentsOf(port);
  const meant = all.filter(({ id }) => id === agent);
  const found = await Promise.all(meant.map(({ key }) => port.post(`agents/${key}/drain`)));
  if (!found.some((each) => each !== undefined)) throw unknownAgent(agent, all);
  const others = all.filter(({ id, draining }) => id !== agent && !draining);
  const tunnels = sum(meant.map((each) => each.tunnels));
  return { agent, tunnels, others: new Set(others.map(({ id }) => id)).size };
}

async function agentsOf(port: Pick<AdminPort, "address" | "find">): Promise<AgentPeer[]> {
  const all: AgentPeer[] = [];
  for (let after: number | undefined = 0; after !== undefined; ) {
    const page: Page<AgentPeer> | undefined = await port.find(`agents?limit=1000&after=${after}`);
    if (page === undefined) throw noServer(port.address);
    all.push(...page.items);
    after = page.items.length === 0 ? undefined : page.next;
  }
  return all;
}

function noServer(address: string): DrawbridgeError {
  const message = `the process at ${address} is no server, and only a server has agents.`;
  return new DrawbridgeError("DB_AGENT_UNKNOWN", message, {
    remedy: "Name the admin port of the server with --admin.",
  });
}

function unknownAgent(agent: string, all: readonly AgentPeer[]): DrawbridgeError {
  const ids = [...new Set(all.map(({ id }) => plainText(id)))];
  const known = ids.length === 0 ? "; none is" : ids.length > MOST_NAMED ? "" : `; connected are ${ids.join(", ")}`;
  const message = `no agent ${JSON.stringify(agent)} is connected${suggestion(agent, ids) || `${known}.`}`;
  return new DrawbridgeError("DB_AGENT_UNKNOWN", message);
}

const MOST_NAMED = 5;

export function drainedText({ agent, tunnels, others }: Drained): string {
  const open = tunnels === 1 ? "its open tunnel stays" : `its ${tunnels} open tunnels stay`;
  const where =
    others === 0
      ? "no other agent takes new dials, so it still gets them until another connects"
      : `new dials go to the ${others === 1 ? "other agent" : `${others} other agents`} where they fit`;
  return `${plainText(agent)} drains: ${where}; ${tunnels === 0 ? "no tunnel is open through it" : open}.\n`;
}
