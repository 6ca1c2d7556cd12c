/** `drawbridge explain HOST:PORT|REFERENCE`: which agent would carry a dial, and why, or why one was refused; nothing is dialled. */
import { isoTime, plainText } from "../../base/text.js";
import type { ExplainedRefusal, Forecast } from "../../insight/observe/admin/contract.js";
import type { AdminPort } from "../../insight/watch/admin-port.js";
import { defineCommand, onlyWord } from "../framework/define.js";
import { adminPortFlags, openAdminPort, SERVER } from "../tunnel/admin-port.js";

export default defineCommand({
  purpose: `Says which agent a server would choose for a target and why, or why none; of an agent, whether its policy allows
the target. Nothing is dialled: drawbridge trace does that. Ends with 1 when no agent can carry it.

With the reference of an answer "No agent available (...; reference 00a96c2d)" it says why that dial was refused, and ends
with 1 when the process does not know it any more.`,
  words: "HOST:PORT|REFERENCE",
  examples: ["drawbridge explain 10.128.0.5:8443", "drawbridge explain 00a96c2d"],
  flags: adminPortFlags,
  async run(flags, { words }) {
    const target = onlyWord(words, "the target, HOST:PORT, or the reference of a refusal");
    const port = await openAdminPort(flags, SERVER);
    return REFERENCE.test(target)
      ? explainRefusal(port, target)
      : port.get<Forecast>(`explain?target=${encodeURIComponent(target)}`);
  },
  show: (answer) => ("id" in answer ? refusalText(answer) : forecastText(answer)),
  exitCode: (answer) => ("id" in answer || answer.possible ? 0 : 1),
});

/** Of a server's refusals, and of those that other processes count; a target has a port. */
const REFERENCE = /^(?:[0-9a-f]{8}|n\d+)$/;

export async function explainRefusal(
  port: Pick<AdminPort, "address" | "find">,
  reference: string,
): Promise<ExplainedRefusal | Forecast> {
  const known = await port.find<ExplainedRefusal>(`refusals/${reference}`);
  const why = `The process at ${port.address} knows no refusal of this reference: it keeps the last 256 since its start. Look for the reference in the servers' logs, and where there are several servers ask each (--admin).`;
  return known ?? { target: reference, possible: false, why };
}

export function refusalText({ at, explanation, id, target, why }: ExplainedRefusal): string {
  const lines = [
    `${plainText(id)}: ${plainText(target)} was refused at ${isoTime(at)}: ${plainText(why)}`,
    ...choiceLines(explanation),
  ];
  return `${lines.join("\n")}\n`;
}

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
  return `Give an agent that reaches this host a fitting --agent-identifiers, or let the server's --proxy-strategies=${names} end with defaultRoute and give default-route=true to agents that reach everything.`;
}

/** How the choice was made, when no agent was chosen. */
export function choiceLines(explanation: Forecast["explanation"]): string[] {
  if (explanation === undefined) return [];
  const { agentsConnected, strategies, considered } = explanation;
  if (agentsConnected === 0) return [`Do: ${choiceRemedy(explanation)}`];
  return [
    agentsConnected === 1 ? "1 agent is connected" : `${agentsConnected} agents are connected`,
    ...strategies.map(({ name, keys, matches }) => `  ${plainText(name)}: ${keys} known, ${matches} fit`),
    ...considered.map(({ agentId, passedOver }) => `  ${plainText(agentId)}: ${plainText(passedOver)}`),
    `Do: ${choiceRemedy(explanation)}`,
  ];
}
