/** `drawbridge explain HOST:PORT`: who would carry a dial, and why; nothing is dialled. */

import { plainText } from "../../base/text.js";
import type { Forecast } from "../../insight/observe/admin/contract.js";
import type { FlagSet } from "../flags/flag-set.js";
import { addOutput, type PlainCommand, refused, runPlainCommand } from "../framework/plain-command.js";
import { addAdminPortFlags, checkAdminPortFlags, openAdminPort } from "../tunnel/admin-port-flags.js";

const command: PlainCommand<ReturnType<typeof declare>> = {
  purpose: `Says which agent a server would choose for a target and why, or why none; of an agent, whether its policy allows
the target. Nothing is dialled: drawbridge trace does that. Ends with 1 when there is no way.`,
  words: " HOST:PORT",
  declare,
  check(flags, words) {
    if (words.length !== 1) throw refused("explain needs one target, HOST:PORT");
    checkAdminPortFlags(flags);
  },
  async run(flags, [target = ""]) {
    const port = await openAdminPort(flags);
    const forecast = await port.get<Forecast>(`explain?target=${encodeURIComponent(target)}`);
    const { safeJson } = await import("../../base/text.js");
    process.stdout.write(flags.output.value === "json" ? `${safeJson(forecast)}\n` : forecastText(forecast));
    return forecast.possible ? 0 : 1;
  },
};

function declare(set: FlagSet) {
  return { ...addAdminPortFlags(set), output: addOutput(set) };
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
    lines.push(`strategy ${plainText(strategy)}; two of the best standing are drawn, the less loaded is taken:`);
  for (const { id, standing, load } of candidates)
    lines.push(`  ${plainText(id)}  ${plainText(standing)}, ${load} tunnels`);
  if (candidatesLeftOut) lines.push(`  and ${candidatesLeftOut} more`);
  if (candidates.length === 0) lines.push(...choiceLines(explanation));
  return `${lines.join("\n")}\n`;
}

/** How the choice went when nobody was chosen. */
export function choiceLines(explanation: Forecast["explanation"]): string[] {
  if (explanation === undefined) return [];
  const { agentsConnected, strategies, considered } = explanation;
  return [
    `${agentsConnected} agents connected`,
    ...strategies.map(({ name, keys, matches }) => `  ${plainText(name)}: ${keys} known, ${matches} fit`),
    ...considered.map(({ agentId, passedOver }) => `  ${plainText(agentId)}: ${plainText(passedOver)}`),
  ];
}

export const explainCommand = (program: string, argv: readonly string[]): Promise<number> =>
  runPlainCommand(program, argv, command);
