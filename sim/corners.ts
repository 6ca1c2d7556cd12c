/** Worlds that chance alone would hardly make: each leads to a place that needs several things at once. */
import type { AgentPlan, CallerPlan, Ending, Limits, Scenario, Sending, ServerPlan } from "./types.js";
import { Random } from "./world/random.js";

const KIB = 1024;
const MIB = 1024 * KIB;

/** What grpc-go grants a stream unasked. */
const GRPC_WINDOW_BYTES = 64 * KIB - 1;

/** With numbers of its own. */
export function intoCorner(scenario: Scenario): Scenario {
  const random = new Random(scenario.seed, "corner");
  const number = random.float();
  if (number < 0.03) return inCrumbs(random, scenario);
  if (number < 0.06) return withHeldLink(random, scenario);
  if (number < 0.1) return withSharedSessions(random, scenario);
  if (number < 0.115) return withLateReaders(random, scenario);
  if (number < 0.5) return withNarrowWindows(scenario);
  return scenario;
}

/** Everything arrives in pieces of a few bytes, so there is not much of it. */
function inCrumbs(random: Random, scenario: Scenario): Scenario {
  const few = (sends: Sending): Sending => {
    const bytes = Math.min(sends.bytes, random.scaled(1, 2 * KIB));
    return { ...sends, bytes, afterBytes: Math.min(sends.afterBytes, 1) };
  };
  const earlier = (ends: Ending): Ending => ("afterBytes" in ends ? { ...ends, afterBytes: 0 } : ends);
  return {
    ...scenario,
    network: { ...scenario.network, segmentBytes: [1, 40] },
    parties: scenario.parties.filter((party) => party.kind === "server" || party.wrong === undefined),
    callers: scenario.callers.map((caller) => ({
      ...caller,
      sends: few(caller.sends),
      ends: earlier(caller.ends),
      endpoint: { ...caller.endpoint, sends: few(caller.endpoint.sends), ends: earlier(caller.endpoint.ends) },
    })),
  };
}

const AT_ONCE = { everyMs: 0, bytes: 0 };

/** One server and one agent without windows. */
function withoutWindows({ parties }: Scenario, tunnelQueueBytes: number): readonly [ServerPlan, AgentPlan] {
  const server = parties.find((party): party is ServerPlan => party.kind === "server")!;
  const agent = parties.find((party): party is AgentPlan => party.kind === "agent" && party.wrong === undefined)!;
  const limits: Limits = { ...server.limits, tunnelQueueBytes, processQueueBytes: 256 * MIB };
  const { watchdog: _, ...plain } = server;
  return [
    { ...plain, limits, serverCount: 1 },
    { ...agent, servers: [server.name], extended: false, token: "good" },
  ];
}

/** Callers that do not read what such an agent sends, while others use its link. */
function withHeldLink(random: Random, scenario: Scenario): Scenario {
  const { seed, network } = scenario;
  const parties = withoutWindows(scenario, 32 * KIB);
  const [server] = parties;
  const first = random.between(600, 700);
  const named = (index: number) => ({ name: `caller${index}`, server: server.name, tls: random.chance(0.3) });
  const busy = (index: number): CallerPlan => ({
    ...named(index),
    mode: random.pick(["connect", "grpc"]),
    atMs: random.between(550, 600),
    sends: { bytes: 100, chunkBytes: 100, pauseMs: 0, afterBytes: 0 },
    reads: AT_ONCE,
    ends: { how: "last" },
    endpoint: {
      connects: "accepts",
      sends: { bytes: 4_000, chunkBytes: 100, pauseMs: random.between(20, 60), afterBytes: 100 },
      reads: AT_ONCE,
      ends: { how: "fin" },
    },
  });
  const idle = (index: number): CallerPlan => ({
    ...named(index),
    mode: random.pick(["connect", "connect", "grpc"]),
    windowBytes: GRPC_WINDOW_BYTES,
    atMs: first + 20 * index,
    // Its own end comes a while after the answer has begun.
    sends: { bytes: 2, chunkBytes: 1, pauseMs: random.between(100, 900), afterBytes: 0 },
    reads: { ...AT_ONCE, stopsAfter: random.whole(1, 20 * KIB) },
    ends: random.pick([{ how: "last" }, { how: "fin" }, { how: "fin" }, { how: "reset", afterBytes: 1 }]),
    endpoint: {
      connects: "accepts",
      sends: { bytes: random.whole(200 * KIB, 400 * KIB), chunkBytes: 64 * KIB, pauseMs: 0, afterBytes: 0 },
      reads: AT_ONCE,
      ends: { how: "fin" },
    },
  });
  const callers = [busy(0), idle(1)];
  if (random.chance(0.3)) callers.push(idle(2));
  if (random.chance(0.3)) callers.push(busy(3));
  return {
    seed,
    network: { ...network, bufferBytes: [2 * KIB, 24 * KIB], segmentBytes: [4 * KIB, 64 * KIB] },
    parties,
    callers,
    faults: [],
  };
}

/** Callers by gRPC for whom much waits when their connection closes. */
function withLateReaders(random: Random, scenario: Scenario): Scenario {
  const { seed, network, callers } = scenario;
  const parties = withoutWindows(scenario, 4 * MIB);
  const late = (caller: CallerPlan): CallerPlan => {
    const { early: _, patienceMs: __, ...rest } = caller;
    return {
      ...rest,
      ...{ mode: "grpc", windowBytes: GRPC_WINDOW_BYTES, server: parties[0].name, atMs: random.between(600, 700) },
      sends: { bytes: 10, chunkBytes: 10, pauseMs: 0, afterBytes: 0 },
      reads: { ...AT_ONCE, stopsAfter: random.whole(1, 60 * KIB) },
      ends: { how: "last" },
      endpoint: {
        connects: "accepts",
        sends: { bytes: random.whole(500 * KIB, 900 * KIB), chunkBytes: 64 * KIB, pauseMs: 0, afterBytes: 10 },
        reads: AT_ONCE,
        ends: { how: "fin" },
      },
    };
  };
  return { seed, network, parties, callers: callers.slice(0, 2).map(late), faults: [] };
}

/** Several calls on one connection, some of which are cancelled while it is full. */
function withSharedSessions(random: Random, scenario: Scenario): Scenario {
  const servers = scenario.parties.filter(({ kind }) => kind === "server").map(({ name }) => name);
  const much = (afterBytes: number): Sending => {
    const bytes = random.whole(60 * KIB, 300 * KIB);
    return { bytes, chunkBytes: 64 * KIB, pauseMs: 0, afterBytes };
  };
  const callers = scenario.callers.slice(0, 6).map((caller): CallerPlan => {
    const isCancelled = random.chance(0.5);
    const sends = random.chance(0.3) ? much(0) : { bytes: 10, chunkBytes: 10, pauseMs: 0, afterBytes: 0 };
    const answers = much(isCancelled ? 0 : sends.bytes);
    const { early: _, ...rest } = caller;
    return {
      ...rest,
      mode: "grpc",
      shares: true,
      server: servers[0]!,
      tls: random.chance(0.2),
      windowBytes: GRPC_WINDOW_BYTES,
      atMs: random.between(600, 700),
      sends,
      ends: isCancelled ? { how: "reset", afterBytes: random.whole(1, answers.bytes) } : { how: "last" },
      endpoint: { ...caller.endpoint, connects: "accepts", sends: answers, ends: { how: "fin" } },
    };
  });
  return { ...scenario, network: { ...scenario.network, bufferBytes: [2 * KIB, 48 * KIB] }, callers };
}

/** Callers by gRPC that grant no more than they have to. */
function withNarrowWindows(scenario: Scenario): Scenario {
  const callers = scenario.callers.map(
    (caller): CallerPlan => (caller.mode === "grpc" ? { ...caller, windowBytes: GRPC_WINDOW_BYTES } : caller),
  );
  return { ...scenario, callers };
}
