/** Which faults, slow readers and ways to end excuse what in a conversation. */
import { bytesOf, noticedAt, transferMs } from "../faults/faults.js";
import type { Conversation, System } from "../systems/system.js";
import type { WrongAgent } from "../systems/wrong-agent.js";
import type { Fault, ServerPlan } from "../types.js";

/** Shorter ones have to be survived. */
const SURVIVED_MS = 2_500;

/** The faults that can have ended a conversation, or kept it from beginning. */
function faultsOf(system: System, conversation: Conversation): Fault[] {
  const { plan, asked, endpoints } = conversation;
  const until = Math.max(asked?.talker.closedAtMs ?? 0, ...endpoints.map(({ talker }) => talker.closedAtMs));
  const agents = new Set(endpoints.map(({ agent }) => agent));
  const hits = (name: string, fault: Fault): boolean => {
    if (name === plan.server || name === plan.name) return true;
    if (name === `${plan.name}'s endpoint`) return true;
    // An agent that it did not use in the end may have been asked before.
    return system.agents.has(name) && (agents.has(name) || (asked?.answeredAtMs ?? until) >= fault.atMs);
  };
  return system.scenario.faults.filter((fault) => {
    if (fault.atMs > until || noticedAt(fault) + LATER_MS < plan.atMs) return false;
    if ("who" in fault) return hits(fault.who, fault);
    return hits(fault.between, fault) && hits(fault.and, fault);
  });
}

/** After GOAWAY an agent stays for so long at least. */
const LEAVE_MS = 2_000;

/** What a fault leaves behind may last a while: a link that is made anew, an agent that nobody trusts. */
const LATER_MS = 40_000;

export function isHarmless(fault: Fault): boolean {
  if (fault.kind === "date" || fault.kind === "goaway") return true;
  return (fault.kind === "stall" || fault.kind === "freeze") && fault.forMs <= SURVIVED_MS;
}

/** A drain that ended because nothing was left to wait for. */
function isGentle({ servers, agents }: System, fault: Fault): boolean {
  if (fault.kind !== "drain") return false;
  const drains = (servers.get(fault.who) ?? agents.get(fault.who))?.drains ?? [];
  return drains.some(({ atMs, isGentle }) => isGentle && Math.abs(atMs - fault.atMs) < 1);
}

/** Its server or its agent drained meanwhile. */
export function isDrained(system: System, conversation: Conversation): boolean {
  return faultsOf(system, conversation).some(({ kind }) => kind === "drain");
}

/** Both ends read at once, its server drained until nothing was left to wait for, and nothing else happened. */
export function isGentlyDrained(system: System, conversation: Conversation): boolean {
  const { plan } = conversation;
  const faults = faultsOf(system, conversation).filter(({ kind }) => kind !== "date");
  const drains = system.servers.get(plan.server)?.drains ?? [];
  const isRead = [plan, plan.endpoint].every(({ reads }) => reads.everyMs === 0 && reads.stopsAfter === undefined);
  return (
    isRead &&
    faults.length > 0 &&
    faults.every((fault) => fault.kind === "drain" && fault.who === plan.server) &&
    drains.length > 0 &&
    drains.every(({ isGentle }) => isGentle)
  );
}

/** A caller that could not expect to be connected. */
export function mayBeRefused(system: System, conversation: Conversation): boolean {
  const { plan } = conversation;
  if (plan.endpoint.connects !== "accepts") return true;
  const server = system.servers.get(plan.server);
  if (server === undefined || system.wrongAgents.size > 0) return true;
  if (conversation.agents === 0 && !canWait(system, server.plan)) return true;
  if (isGentlyDrained(system, conversation)) {
    // Whoever is connected has a second to ask.
    const acceptedAtMs = server.acceptedAtMs.get(plan.name) ?? Number.POSITIVE_INFINITY;
    return server.drains.some(({ atMs }) => atMs <= acceptedAtMs);
  }
  if (isHeldUp(system, conversation)) return true;
  const faults = faultsOf(system, conversation);
  const [only] = faults;
  // Agents that were told to go may all do so at once, and a dial is tried at two of them.
  if (faults.some(({ kind, atMs }) => kind === "goaway" && Math.abs(plan.atMs - atMs - LEAVE_MS) < 1_000)) return true;
  // The time that stalls take is part of the dial's.
  const lostMs = faults.reduce((sum, fault) => sum + ("forMs" in fault ? fault.forMs : 0), plan.endpoint.lateMs ?? 0);
  // So is what waits on the link before the answer.
  const { scenario } = system;
  const waitsMs = transferMs(scenario.network, Math.min(bytesOf(scenario, plan.server), MOST_BEFORE_BYTES));
  const { dialTimeoutMs } = server.plan;
  if (lostMs > Math.min(dialTimeoutMs, 5_000) - 1_000 || lostMs + waitsMs > dialTimeoutMs - 1_000) return true;
  // An agent that drains says so before it goes, and another takes what it does not.
  if (faults.length === 1 && only?.kind === "drain" && system.agents.has(only.who))
    return conversation.agents < 2 && !isDialledInTime(conversation, only, dialTimeoutMs);
  return faults.some((fault) => !isHarmless(fault));
}

/** On a link without windows nothing is read behind the bytes for somebody who has stopped to read, and who is alone there. */
function isHeldUp({ agents, conversations }: System, { plan }: Conversation): boolean {
  return conversations.some(
    (other) =>
      other.plan.name !== plan.name &&
      other.plan.server === plan.server &&
      hasStopped(other) &&
      other.endpoints.some(({ agent }) => agents.get(agent)?.plan.extended === false),
  );
}

/** One of its ends has read as much as it wanted to read before the last fault. */
function hasStopped({ asked, endpoints }: Conversation): boolean {
  const talkers = [asked?.talker, ...endpoints.map(({ talker }) => talker)];
  return talkers.some(
    (talker) => talker !== undefined && talker.received >= (talker.plan.reads.stopsAfter ?? Number.POSITIVE_INFINITY),
  );
}

/** On a link that is full. */
const MOST_BEFORE_BYTES = 256 * 1024;

/** A caller that comes before any agent waits for one, where agents come at once. */
function canWait({ scenario, servers, agents }: System, { waitForAgentMs, tokens }: ServerPlan): boolean {
  if (waitForAgentMs === 0 || servers.size > 1 || scenario.faults.length > 0) return false;
  return [...agents.values()].some(({ plan }) => tokens === undefined || plan.token === "good");
}

/** Whether what was sent to this end of a conversation need not be complete. */
export function isDisturbed(system: System, conversation: Conversation, to: "caller" | "endpoint"): boolean {
  const { plan, endpoints } = conversation;
  if (endpoints.length !== 1) return true;
  const faults = faultsOf(system, conversation);
  // What a gRPC caller does not read waits in its own process, and no server waits for that.
  const isRead = plan.mode === "connect" || plan.reads.stopsAfter === undefined;
  const isEased = (fault: Fault): boolean =>
    isHarmless(fault) || (isRead && isGentle(system, fault)) || isDrainedInTime(system, conversation, fault);
  if (!faults.every(isEased)) return true;
  // Last bytes do not wait for ever for somebody who has stopped to read, and who goes on only after the last fault.
  const { stopsAfter } = (to === "caller" ? plan : plan.endpoint).reads;
  if (stopsAfter !== undefined && system.calmAtMs > plan.atMs + LAST_BYTES_MS) return true;
  const [near, far] = [plan.ends.how, plan.endpoint.ends.how];
  const isWhole = near !== "close" && near !== "reset" && far !== "close" && far !== "reset";
  if (!isWhole) return true;
  const agent = system.agents.get(endpoints[0]!.agent);
  if (agent === undefined) return true;
  const isRequest = near === "last" && plan.endpoint.sends.afterBytes >= plan.sends.bytes;
  // Only drawbridge's own ends can end one direction alone, and gRPC callers cannot at all: whoever ends first ends both.
  const isFirst = plan.mode === "grpc" && to === "caller" && near === "last" && far === "fin";
  if (!isRequest && !isFirst && (plan.mode === "grpc" || !agent.plan.extended)) return true;
  if (agent.plan.extended) return false;
  // Without windows, whoever reads slowly is cut when its queue is too long; the network may be what is slow.
  const server = system.servers.get(plan.server)!;
  const bytes = Math.max(plan.sends.bytes, plan.endpoint.sends.bytes);
  const all = bytesOf(system.scenario);
  for (const { limits } of [server.plan, agent.plan])
    if (bytes > limits.tunnelQueueBytes / 2 || all > limits.processQueueBytes / 2) return true;
  return false;
}

/** An agent that drains waits for the dials that it has. */
function isDialledInTime({ plan }: Conversation, { atMs, limitMs }: Drain, dialTimeoutMs: number): boolean {
  const takesMs = (plan.endpoint.lateMs ?? 0) + SPARE_MS;
  return (
    plan.atMs + SPARE_MS < atMs && takesMs < Math.min(dialTimeoutMs, 5_000) && plan.atMs + takesMs < atMs + limitMs
  );
}

/** What a tunnel that has ended has for its last bytes. */
const LAST_BYTES_MS = 10_000;

type Drain = Extract<Fault, { kind: "drain" }>;
const SPARE_MS = 500;

/** A drain waits for what is short and has begun in time, and for the answer to whatever is still being sent. */
function isDrainedInTime({ scenario }: System, { plan, asked }: Conversation, fault: Fault): boolean {
  if (fault.kind !== "drain" || fault.limitMs < SHORTEST_DRAIN_MS) return false;
  if (scenario.network.bufferBytes[0] < SLOW_BUFFER_BYTES || scenario.faults.length > 1) return false;
  for (const { sends, reads } of [plan, plan.endpoint]) {
    const isQuick = sends.bytes <= QUICK_BYTES && reads.everyMs === 0;
    if (!isQuick || reads.stopsAfter !== undefined) return false;
  }
  const { sends, endpoint } = plan;
  const isRequest = plan.ends.how === "last" && endpoint.sends.afterBytes >= sends.bytes;
  if (endpoint.sends.pauseMs > 0 || (sends.pauseMs > 0 && !isRequest)) return false;
  const chunks = Math.ceil(sends.bytes / sends.chunkBytes);
  const pausedMs = sends.pauseMs === 0 ? 0 : chunks * (sends.pauseMs + scenario.network.timerLatenessMs + 1);
  const answeredAt = asked?.answeredAtMs ?? Number.POSITIVE_INFINITY;
  return answeredAt + pausedMs < fault.atMs + fault.limitMs - SHORTEST_DRAIN_MS / 2;
}

const SHORTEST_DRAIN_MS = 3_000;
const QUICK_BYTES = 32 * 1024;
const SLOW_BUFFER_BYTES = 16 * 1024;

/**
 * Whether an end in good order may have come before everything was there, because nobody between the two could know or say
 * that it was cut.
 */
export function mayLookWhole(system: System, conversation: Conversation, to: "caller" | "endpoint"): boolean {
  const { plan, endpoints } = conversation;
  const agent = system.agents.get(endpoints[0]?.agent ?? "");
  if (endpoints.length !== 1 || agent?.plan.extended !== true) return true;
  // One that takes dials and closes them may have answered after the agent that dialled was lost.
  const isTaken = ({ plan: { wrong } }: WrongAgent): boolean => wrong === "taken-number" || wrong === "beyond-window";
  if ([...system.wrongAgents.values()].some(isTaken)) return true;
  // A Unix socket cannot be reset.
  if (to === "caller" && plan.mode === "connect" && !plan.tls) return true;
  // Whoever ended first on a path that cannot end one direction alone.
  if (plan.mode === "grpc" && to === "endpoint" && endpoints[0]!.talker.hasEnded) return true;
  return system.scenario.faults.some((fault) => {
    // The last part of a drain ends what is silent after an answer in good order, as clients of kept-alive connections want it.
    if (fault.kind === "drain") return fault.who === plan.server || fault.who === agent.plan.name;
    // The kernel ends the connections of a process that is gone.
    if (fault.kind === "restart") return to === "endpoint" && fault.who === agent.plan.name;
    if (fault.kind !== "cut" || fault.how !== "fin") return false;
    // An end that somebody on the way has made looks like the peer's own.
    return [fault.between, fault.and].some((name) => name === plan.name || name === `${plan.name}'s endpoint`);
  });
}
