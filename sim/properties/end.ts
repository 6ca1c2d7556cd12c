/** What holds once everything is over. */
import type { Talker } from "../peers/talker.js";
import type { Conversation, System } from "../systems/system.js";
import { isDisturbed, isDrained, isGentlyDrained, mayBeRefused, mayLookWhole } from "./disturbances.js";
import { judgeLinks, judgeService } from "./links.js";
import { lookAtLinks } from "./listeners.js";

/** Last bytes of closed tunnels have 10 s, and idle links of servers that drain 2 s. */
const SETTLED_MS = 12_000;
/** A process that was told to end has nothing left to do after this. */
const GONE_MS = 90_000;

export async function judgeEnd(system: System): Promise<void> {
  const { world } = system;
  for (const conversation of system.conversations) judgeConversation(system, conversation);
  if (world.failure !== undefined) return;
  await world.run(world.now + SETTLED_MS);
  if (world.failure === undefined) judgeTables(system);
  if (world.failure === undefined && system.scenario.kube !== undefined) await judgeCounts(system);
  if (world.failure === undefined) await judgeLinks(system);
  if (world.failure === undefined && system.scenario.faults.length > 0) await judgeService(system);
  if (world.failure !== undefined) return;
  system.isEnding = true;
  for (const agent of system.wrongAgents.values()) agent.kill();
  for (const { agent, leases, isUp, host } of system.agents.values())
    if (isUp) host.tick(() => void Promise.all([agent.stop(), leases?.stop()]));
  for (const { server, leases, isUp, host } of system.servers.values())
    if (isUp) host.tick(() => void Promise.all([server.stop(), leases?.stop()]));
  await world.run(world.now + GONE_MS);
  if (world.failure === undefined) judgeRest(system);
}

function judgeConversation(system: System, conversation: Conversation): void {
  const { world } = system;
  const { plan, asked, endpoints } = conversation;
  const story = (): string =>
    [
      asked === undefined ? "never asked" : (asked.refusal ?? asked.lost ?? `${asked.answers} answers`),
      describe(asked?.talker),
      ...endpoints.map(({ talker }) => describe(talker)),
    ].join("; ");
  if (!system.isOver(conversation)) {
    world.fail("everything ends within 10 s", `${plan.name} has not ended: ${story()}`);
    return;
  }
  const tries = system.network.tries(conversation.address);
  if (tries > 2) world.fail("a dial is tried twice at most", `${plan.name}'s endpoint was dialled ${tries} times`);
  if (asked === undefined || asked.gaveUp === true) return;
  const isAnswered = asked.answers === 1 && asked.refusal === undefined;
  if (!isAnswered) {
    if (
      plan.mode === "connect" &&
      asked.lost !== undefined &&
      asked.lost !== "ECONNREFUSED" &&
      isGentlyDrained(system, conversation)
    )
      world.fail("a drain loses nothing", `${plan.name} got no answer: ${story()}`);
    if (!mayBeRefused(system, conversation))
      world.fail("dials that can succeed succeed", `${plan.name} was refused: ${story()}`);
    return;
  }
  const far = endpoints.at(-1)?.talker;
  const near = asked.talker;
  if (far === undefined) return;
  for (const [from, to, who] of [
    [near, far, "endpoint"],
    [far, near, "caller"],
  ] as const) {
    const looksWhole = to.sawEnd && to.error === undefined && !to.isAborted;
    const isWhole = from.hasEnded && to.received === from.sent;
    if (looksWhole && !isWhole && !mayLookWhole(system, conversation, who))
      world.fail("nothing cut looks whole", `${to.plan.name} has read a good end: ${story()}`);
  }
  for (const [from, to, who] of [
    [near, far, "endpoint"],
    [far, near, "caller"],
  ] as const) {
    if (isDisturbed(system, conversation, who) || isComplete(from, to)) continue;
    const property = isDrained(system, conversation) ? "a drain loses nothing" : "what nothing disturbs is complete";
    world.fail(property, `${plan.name}: ${story()}`);
  }
}

/** Every byte came, and then the end. */
function isComplete(from: Talker, to: Talker): boolean {
  return to.received === from.plan.sends.bytes && to.error === undefined;
}

function judgeTables(system: System): void {
  const { world, network } = system;
  for (const { plan, isUp, server } of system.servers.values()) {
    if (!isUp) continue;
    const { board } = server;
    const left: Record<string, number> = {
      "pending dials": board.pendingDials,
      tunnels: board.establishedTunnels,
      "waiting dials": board.waiting.size,
      "queued bytes": board.budget.queuedBytes,
    };
    for (const link of board.registry.links()) {
      left[`${link.identity.agentId}'s load`] = link.load;
      left[`${link.identity.agentId}'s staged bytes`] = isProbing(link) ? 0 : link.stream.queuedBytes;
    }
    if ([...board.registry.links()].every(({ probe }) => probe?.busy !== true)) left.credit = board.budget.creditTaken;
    empty(world, plan.name, left);
  }
  for (const { plan, isUp, agent } of system.agents.values()) {
    if (!isUp) continue;
    const left: Record<string, number> = { "queued bytes": agent.readings().queuedBytes() };
    for (const link of agent.links()) {
      left[`${link.serverId}'s tunnels`] = link.tunnels.size;
      left[`${link.serverId}'s dials`] = link.pendingDials;
    }
    empty(world, plan.name, left);
  }
  lookAtLinks(system);
  network.tidy();
  for (const { from, to, near, far } of network.connections) {
    if (!from.startsWith("caller") && system.servers.has(to)) continue;
    const open = near.destroyed ? far.host : near.host;
    if (open.alive) world.fail("no socket is left open", `${open.name} has the connection from ${from} to ${to} open`);
  }
  for (const { destroyed, host } of network.unanswered)
    if (!destroyed && host.alive)
      world.fail("no socket is left open", `${host.name} still waits for an endpoint that does not answer`);
}

/** The watchdog's own packets are nobody's; its last one may still wait when its answer is there. */
function isProbing({
  probe,
  stream,
}: {
  probe?: { readonly busy: boolean } | undefined;
  stream: { queuedBytes: number };
}) {
  return probe !== undefined && (probe.busy || stream.queuedBytes <= MOST_PROBE_BYTES);
}

const MOST_PROBE_BYTES = 64;

/** Leases of servers that were killed have run out, and those of others have been renewed. */
const COUNTED_MS = 60_000;

async function judgeCounts({ world, servers, agents }: System): Promise<void> {
  await world.run(world.now + COUNTED_MS);
  const count = Math.max(1, [...servers.values()].filter(({ isUp }) => isUp).length);
  for (const { plan, isUp, leases } of agents.values()) {
    if (isUp && leases?.count() !== count)
      world.fail("leases count the servers", `${plan.name} counts ${leases?.count()} of ${count} servers`);
  }
}

/** Both ends of every link have been told to go. */
function judgeRest({ world, servers, agents, network }: System): void {
  for (const { host, plan } of [...servers.values(), ...agents.values()]) {
    if (host.alive && host.timers > 0)
      world.fail("no timer is left", `${plan.name} was told to end and has ${host.timers} timers`);
    for (const address of host.alive ? network.addressesOf(host) : [])
      world.fail("no listener is left", `${plan.name} was told to end and takes connections at ${address}`);
  }
  network.tidy();
  for (const { from, to, near, far, there } of network.connections) {
    const open = near.destroyed ? far.host : near.host;
    if (open.alive && !there.silent)
      world.fail("no socket is left open", `${open.name} was told to end and has a connection from ${from} to ${to}`);
  }
}

function empty(world: System["world"], who: string, left: Readonly<Record<string, number>>): void {
  for (const [what, count] of Object.entries(left))
    if (count !== 0) world.fail("tables and budgets are empty in the end", `${who} has ${count} as ${what}`);
}

function describe(talker: Talker | undefined): string {
  if (talker === undefined) return "nobody";
  const { plan, sent, received, hasSentAll, hasEnded, sawEnd, isClosed, error } = talker;
  const states = Object.entries({ hasSentAll, hasEnded, sawEnd, isClosed }).flatMap(([name, is]) => (is ? [name] : []));
  const failed = error === undefined ? "" : `, ${error}`;
  return `${plan.name} sent ${sent} of ${plan.sends.bytes}, read ${received}${failed} (${states.join(" ")})`;
}
