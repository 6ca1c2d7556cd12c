/** `drawbridge explain HOST:PORT`: which agent would carry a dial, and why; nothing is dialled. */
import { plainText } from "../../base/text.js";
import type { Forecast } from "../../insight/observe/admin/contract.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { adminPortFlags, openAdminPort } from "../tunnel/admin-port.js";

export default defineCommand({
  purpose: `Says which agent a server would choose for a target and why, or why none; of an agent, whether its policy allows
the target. Nothing is dialled: drawbridge trace does that. Ends with 1 when no agent can carry it.`,
  words: "HOST:PORT",
  examples: ["drawbridge explain 10.128.0.5:8443"],
  flags: adminPortFlags,
  async run(flags, { words }) {
    const target = onlyWord(words, "the target, HOST:PORT,");
    const port = await openAdminPort(flags);
    return port.get<Forecast>(`explain?target=${encodeURIComponent(target)}`);
  },
  show: forecastText,
  exitCode: ({ possible }) => (possible ? 0 : 1),
});

export function forecastText({
  target,
  why,
  strategy,
  candidates = [],
  candidatesLeftOut,
  explanation,
}: Forecast): string {
  const lines = [`${plainText(target)}: ${plainText(why)}`];
  if (strategy !== undefined)
    lines.push(
      `strategy ${plainText(strategy)}; of two random agents in the best status, the less loaded one is chosen:`,
    );
  for (const { id, status, load } of candidates)
    lines.push(`  ${plainText(id)}  ${plainText(status)}, ${load} tunnels`);
  if (candidatesLeftOut) lines.push(`  and ${candidatesLeftOut} more`);
  if (candidates.length === 0) lines.push(...choiceLines(explanation));
  return `${lines.join("\n")}\n`;
}

function choiceRemedy({ agentsConnected, strategies }: NonNullable<Forecast["explanation"]>): string {
  if (agentsConnected === 0) return "Start an agent; one that runs says in its log why it is not connected.";
  if (strategies.some(({ matches }) => matches > 0))
    return "See what is said of each agent above; the dial may be tried again.";
  const names = strategies.map(({ name }) => plainText(name)).join(",");
  return `Give an agent that reaches this host a fitting --agent-identifiers, or let the server's --proxy-strategies=${names} end with default.`;
}

/** How the choice was made, when no agent was chosen. */
export function choiceLines(explanation: Forecast["explanation"]): string[] {
  if (explanation === undefined) return [];
  const { agentsConnected, strategies, considered } = explanation;
  return [
    `${agentsConnected} agents connected`,
    ...strategies.map(({ name, keys, matches }) => `  ${plainText(name)}: ${keys} known, ${matches} fit`),
    ...considered.map(({ agentId, passedOver }) => `  ${plainText(agentId)}: ${plainText(passedOver)}`),
    `Do: ${choiceRemedy(explanation)}`,
  ];
}
