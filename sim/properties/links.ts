/** Links between agents and servers: they last, and what is lost is made anew. */
import { agentServerDisconnected } from "../../src/tunnel/events/channels.js";
import type { Session } from "../../src/tunnel/link/open.js";
import type { SimAgent } from "../systems/agent.js";
import type { SimServer } from "../systems/server.js";
import type { System } from "../systems/system.js";
import type { CallerPlan, Fault } from "../types.js";
import { isHarmless } from "./disturbances.js";

const hits = (fault: Fault, agent: string, server: string): boolean =>
  "who" in fault
    ? fault.who === agent || fault.who === server
    : [fault.between, fault.and].every((name) => name === agent || name === server);

/** No link is lost without a fault. The returned function ends it. */
export function watchLinks(system: System): () => void {
  const { world, agents, scenario } = system;
  return agentServerDisconnected.subscribe(({ source, serverId, reason }) => {
    const at = [...agents.values()].find(({ agent }) => agent === source);
    if (at === undefined || system.isEnding) return;
    const { name } = at.plan;
    const isExcused = (fault: Fault): boolean =>
      hits(fault, name, serverId) && (fault.kind === "goaway" || !isHarmless(fault));
    if (!scenario.faults.some(isExcused))
      world.fail("links that nothing disturbs last", `${name} has lost its link to ${serverId}: ${reason}`);
  });
}

/** What the watchdog needs to be sure beside its own times: callers whose bytes still move, and the steps of its timer. */
const SLACK_MS = 10_000;

/** Nothing goes through a link any more: a server with a watchdog notices that long before a ping is late. */
export function watchSilence({ world, servers, agents, scenario }: System, one: string, two: string): void {
  const server = servers.get(one) ?? servers.get(two);
  const agent = agents.get(one) ?? agents.get(two);
  const watchdog = server?.plan.watchdog;
  if (server?.isUp !== true || agent === undefined || watchdog === undefined) return;
  if (scenario.faults.some((fault) => fault.kind === "freeze" && fault.who === server.plan.name)) return;
  const { name } = agent.plan;
  const process = server.server;
  const silent = linksOf(server, name).filter(({ probe }) => probe !== undefined);
  const { intervalMs, timeoutMs, failures } = watchdog;
  const withinMs = 1.1 * intervalMs + failures * timeoutMs + SLACK_MS;
  world.after(withinMs, "the watchdog's time is over", () => {
    if (!server.isUp || server.server !== process || process.draining) return;
    if (linksOf(server, name).some((link) => silent.includes(link)))
      world.fail(
        "the watchdog ends silent links",
        `${server.plan.name} keeps ${name}, which is silent for ${withinMs} ms`,
      );
  });
}

const linksOf = ({ server }: SimServer, agent: string) =>
  [...server.board.registry.links()].filter(({ identity }) => identity.agentId === agent);

/** The longest pause between two attempts, and one that fails. */
const FOUND_MS = 30_000;
const STEP_MS = 1_000;

/** After the last fault every agent finds every server again. */
export async function judgeLinks(system: System): Promise<void> {
  const { world, servers, agents } = system;
  const until = world.now + FOUND_MS;
  for (;;) {
    const missing = [...servers.values()].flatMap((server) =>
      [...agents.values()].filter((agent) => !isConnected(agent, server)).map((agent) => ({ agent, server })),
    )[0];
    if (missing === undefined || world.failure !== undefined) return;
    if (world.now >= until) {
      const { agent, server } = missing;
      world.fail("agents find every server again", `${agent.plan.name} has no link to ${server.plan.name}`);
      return;
    }
    await world.run(world.now + STEP_MS);
  }
}

/** Or cannot be: one of them is gone, or the agent is a stranger. */
function isConnected(agent: SimAgent, server: SimServer): boolean {
  if (!agent.isUp || !server.isUp || agent.agent.draining || server.server.draining) return true;
  if (server.plan.tokens !== undefined && agent.plan.token !== "good") return true;
  const isLinked = linksOf(server, agent.plan.name).some(({ connection }) => !(connection as Session).closed);
  return (
    isLinked && [...agent.agent.links()].some(({ serverId, leaving }) => serverId === server.plan.name && !leaving)
  );
}

const SERVED_MS = 10_000;
const PAYLOAD_BYTES = 3_000;

/** And whoever calls now is served. */
export async function judgeService(system: System): Promise<void> {
  const { world, servers } = system;
  if (system.wrongAgents.size > 0) return;
  const conversations = [...servers.values()]
    .filter(({ isUp, server }) => isUp && !server.draining && server.board.registry.size > 0)
    .map(({ plan }) => system.callNow(lastCaller(plan.name)));
  const isServed = ({ asked, endpoints }: (typeof conversations)[number]): boolean =>
    asked?.talker.received === PAYLOAD_BYTES && endpoints.at(-1)?.talker.received === PAYLOAD_BYTES;
  const isOver = () => conversations.every((each) => isServed(each) && system.isOver(each));
  const until = world.now + SERVED_MS;
  while (world.failure === undefined && !isOver() && world.now < until) await world.run(world.now + STEP_MS);
  if (world.failure !== undefined) return;
  const failed = conversations.find((each) => !isServed(each) || !system.isOver(each));
  if (failed === undefined) return;
  const { asked, plan } = failed;
  const story = asked?.refusal ?? asked?.lost ?? `it has read ${asked?.talker.received} bytes`;
  world.fail("whoever calls after the last fault is served", `${plan.name} at ${plan.server}: ${story}`);
}

function lastCaller(server: string): CallerPlan {
  const sends = { bytes: PAYLOAD_BYTES, chunkBytes: PAYLOAD_BYTES, pauseMs: 0, afterBytes: 0 };
  const reads = { everyMs: 0, bytes: 0 };
  return {
    ...{ name: `caller of ${server}'s last`, server, mode: "connect", tls: true, atMs: 0, sends, reads },
    ends: { how: "last" },
    endpoint: { connects: "accepts", sends: { ...sends, afterBytes: PAYLOAD_BYTES }, reads, ends: { how: "fin" } },
  };
}
