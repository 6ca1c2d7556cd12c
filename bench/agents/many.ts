/**
 * `many.ts FIRST COUNT FLAG...`: so many agents in one process, through the library and not as the shipped program. The
 * flags are proxy-agent's; each agent has an ID and an address of its own, by its number from FIRST on. Prints
 * `connected SECONDS` once all have a server.
 */
import { setTimeout as sleep } from "node:timers/promises";
import agentCommand from "../../src/cli/tunnel/agent.js";
import { ProxyAgent } from "../../src/tunnel/agent/agent.js";
import { agentAddress } from "./address.js";

const [first = "0", count = "1", ...flags] = process.argv.slice(2);
const parsed = agentCommand.parse(flags, process.env, "proxy-agent");
if (parsed.help !== undefined) throw new Error("--help has no place here");
const { config } = parsed.config;

const began = performance.now();
const agents = Array.from({ length: Number(count) }, (_, i) => {
  const number = Number(first) + i;
  return new ProxyAgent({ ...config, agentId: `bench-${number}`, identifiers: `ipv4=${agentAddress(number)}` });
});
for (const agent of agents) agent.start();
while (!agents.every((agent) => agent.ready)) await sleep(5);
process.stdout.write(`connected ${(performance.now() - began) / 1000}\n`);
// While no agent has a server there is nothing else to keep the process.
setInterval(() => {}, 60_000);
