/** The scenario of a seed. */
import { intoCorner } from "./corners.js";
import { withTroubles } from "./troubles.js";
import {
  type AgentPlan,
  BALANCER,
  type CallerPlan,
  type Ending,
  type EndpointPlan,
  type Fault,
  type Limits,
  type Reading,
  type Scenario,
  type Sending,
  type ServerPlan,
} from "./types.js";
import { Random } from "./world/random.js";

const KIB = 1024;
const MIB = 1024 * KIB;

/** Everything a scenario begins happens within this. */
const BUSY_MS = 4_000;

export function scenarioOf(seed: number): Scenario {
  const random = new Random(seed, "scenario");
  const isHarsh = random.chance(0.5);
  const servers = Array.from({ length: random.pick([1, 1, 1, 2, 2, 3]) }, (_, index) => serverPlan(random, index));
  const names = servers.map(({ name }) => name);
  const counted = servers.map((server) => ({ ...server, serverCount: servers.length }));
  const agents = Array.from({ length: random.pick([1, 1, 1, 2, 2, 3, 4, 6]) }, (_, index) =>
    agentPlan(random, index, names),
  );
  const isBulk = random.chance(0.06);
  const callers = Array.from({ length: isBulk ? 6 : random.scaled(1, 12) }, (_, index) => {
    const caller = callerPlan(random, index, names);
    return isBulk ? inBulk(random, caller) : caller;
  });
  const faults = isHarsh
    ? Array.from({ length: random.scaled(1, 5) }, () => faultPlan(random, names, agents, callers))
    : [];
  const small = random.chance(0.3);
  const scaling = scalingOf(seed, names, callers, isHarsh);
  const scenario: Scenario = {
    seed,
    ...(scaling === undefined ? {} : { kube: scaling.kube }),
    network: {
      latencyMs: random.chance(0.3) ? [0.01, 0.2] : [0.05, 20],
      bufferBytes: small ? [2 * KIB, 64 * KIB] : [16 * KIB, 1 * MIB],
      segmentBytes: random.chance(0.2) ? [300, 16 * KIB] : [4 * KIB, 64 * KIB],
      timerLatenessMs: random.chance(0.5) ? 0 : random.between(0, 5),
    },
    parties: [
      ...counted,
      ...(scaling === undefined ? agents : agents.map((each) => ({ ...each, servers: [BALANCER] }))),
      ...wrongAgents(random, agents.length, names),
    ],
    callers,
    faults: [...faults, ...(scaling?.drains ?? [])].sort((one, two) => one.atMs - two.atMs),
  };
  return intoCorner(withTroubles(scenario));
}

/** Seldom, and one is enough. */
function wrongAgents(random: Random, index: number, servers: readonly string[]): AgentPlan[] {
  if (!random.chance(0.08)) return [];
  const wrong = random.pick([
    "unknown-dials",
    "taken-number",
    "data-unasked",
    "beyond-window",
    "garbage",
    "never-answers",
  ] as const);
  return [{ ...agentPlan(random, index, servers), wrong }];
}

/** Some worlds have a balancer before their servers, which come and go and keep leases. With numbers of its own. */
function scalingOf(seed: number, servers: readonly string[], callers: readonly CallerPlan[], isHarsh: boolean) {
  const random = new Random(seed, "scaling");
  if (!random.chance(0.15)) return undefined;
  const drains = servers
    .filter(() => isHarsh && random.chance(0.5))
    .map((who): Fault => {
      // A drain is hardest on whoever has just come.
      const calls = callers.filter(({ server }) => server === who);
      const isClose = calls.length > 0 && random.chance(0.7);
      const atMs = isClose ? random.pick(calls).atMs + random.between(0, 60) : random.between(500, BUSY_MS);
      return { kind: "drain", atMs, who, limitMs: random.between(4_000, 12_000), afterMs: random.between(10, 5_000) };
    });
  return { kube: { latencyMs: [1, random.scaled(2, 1_000)] as const }, drains };
}

function limits(random: Random): Limits {
  if (random.chance(0.5)) {
    return { tunnelQueueBytes: 4 * MIB, processQueueBytes: 256 * MIB, creditBudgetBytes: 128 * MIB };
  }
  return {
    tunnelQueueBytes: random.scaled(32 * KIB, 512 * KIB),
    processQueueBytes: random.scaled(64 * KIB, 1 * MIB),
    creditBudgetBytes: random.pick([0, 64 * KIB, 256 * KIB, 1 * MIB]),
  };
}

function serverPlan(random: Random, index: number): ServerPlan {
  const hasWatchdog = random.chance(0.3);
  return {
    kind: "server",
    name: `server${index}`,
    limits: limits(random),
    dialTimeoutMs: random.pick([15_000, 15_000, 3_000]),
    waitForAgentMs: random.pick([0, 2_000, 5_000]),
    keepaliveMs: 30_000,
    serverCount: 1,
    ...(random.chance(0.15) ? { tokens: { reviewMs: random.between(1, 400) } } : {}),
    ...(hasWatchdog ? { watchdog: { intervalMs: random.whole(500, 5_000), timeoutMs: 5_000, failures: 3 } } : {}),
  };
}

function agentPlan(random: Random, index: number, servers: readonly string[]): AgentPlan {
  return {
    kind: "agent",
    name: `agent${index}`,
    servers,
    extended: random.chance(0.75),
    limits: limits(random),
    keepaliveMs: 30_000,
    syncIntervalMs: random.pick([250, 1_000]),
    token: random.chance(0.93) ? "good" : "bad",
    hasLeases: random.chance(0.3),
  };
}

function sending(random: Random, afterBytes = 0): Sending {
  const bytes = random.chance(0.15)
    ? 0
    : random.chance(0.25)
      ? random.scaled(64 * KIB, 700 * KIB)
      : random.scaled(1, 64 * KIB);
  const chunkBytes = Math.max(random.scaled(1, 64 * KIB), Math.ceil(bytes / 60));
  const chunks = Math.max(1, Math.ceil(bytes / chunkBytes));
  return { bytes, chunkBytes, pauseMs: random.chance(0.7) ? 0 : random.between(0, 2_000 / chunks), afterBytes };
}

function reading(random: Random, bytes: number): Reading {
  if (random.chance(0.75)) return { everyMs: 0, bytes: 0 };
  if (random.chance(0.5)) return { everyMs: 0, bytes: 0, stopsAfter: random.whole(1, Math.max(1, bytes)) };
  return { everyMs: random.between(0.1, 60), bytes: 0 };
}

/** Much at once, so that links are full. */
function inBulk(random: Random, caller: CallerPlan): CallerPlan {
  const much = (sends: Sending): Sending => {
    const bytes = random.whole(100 * KIB, 400 * KIB);
    return { ...sends, bytes, chunkBytes: 64 * KIB, pauseMs: 0, afterBytes: 0 };
  };
  return {
    ...caller,
    atMs: random.between(1_500, 1_600),
    sends: much(caller.sends),
    ends: { how: "last" },
    endpoint: { ...caller.endpoint, sends: much(caller.endpoint.sends), ends: { how: "fin" } },
  };
}

/** Both directions are spoken of together: somebody has to end first. */
function callerPlan(random: Random, index: number, servers: readonly string[]): CallerPlan {
  const name = `caller${index}`;
  const isRequest = random.chance(0.5);
  const sends = sending(random);
  const answers = sending(random, isRequest ? sends.bytes : 0);
  let ends: Ending;
  let ended: Ending;
  if (isRequest) {
    // A request and its answer, which the endpoint ends: complete on every path.
    [ends, ended] = [{ how: "last" }, { how: "fin" }];
  } else {
    const both = random.pick(["fin fin", "fin last", "last fin", "close", "reset", "closed", "resets"]);
    const after = (bytes: number): number => random.whole(0, bytes);
    if (both === "close" || both === "reset")
      [ends, ended] = [{ how: both, afterBytes: after(answers.bytes) }, { how: "last" }];
    else if (both === "closed") [ends, ended] = [{ how: "last" }, { how: "close", afterBytes: after(sends.bytes) }];
    else if (both === "resets") [ends, ended] = [{ how: "last" }, { how: "reset", afterBytes: after(sends.bytes) }];
    else {
      const [one, two] = both.split(" ") as ["fin" | "last", "fin" | "last"];
      [ends, ended] = [{ how: one }, { how: two }];
    }
  }
  const endpoint: EndpointPlan = {
    connects: random.chance(0.92) ? "accepts" : random.pick(["refuses", "silent"]),
    sends: answers,
    reads: reading(random, sends.bytes),
    ends: ended,
  };
  return {
    name,
    server: random.pick(servers),
    mode: random.chance(0.6) ? "connect" : "grpc",
    tls: random.chance(0.4),
    // Some come before there is an agent.
    atMs: random.chance(0.1) ? random.between(0, 300) : random.between(500, BUSY_MS),
    sends,
    reads: reading(random, answers.bytes),
    ends,
    ...(ends.how === "last" && random.chance(0.25) ? { early: true } : {}),
    ...(random.chance(0.08) ? { patienceMs: random.between(0, 500) } : {}),
    endpoint,
  };
}

function faultPlan(
  random: Random,
  servers: readonly string[],
  agents: readonly AgentPlan[],
  callers: readonly CallerPlan[],
): Fault {
  const atMs = random.between(100, BUSY_MS + 1_000);
  const server = random.pick(servers);
  const agent = random.pick(agents).name;
  const who = random.chance(0.5) ? server : agent;
  const caller = random.pick(callers);
  const [between, and] = random.pick([
    [agent, server],
    [agent, server],
    [agent, server],
    [caller.name, caller.server],
    [agent, `${caller.name}'s endpoint`],
  ] as const);
  switch (
    random.pick([
      "cut",
      "cut",
      "cut",
      "stall",
      "stall",
      "freeze",
      "restart",
      "drain",
      "drain",
      "date",
      "refuse",
    ] as const)
  ) {
    case "cut": {
      const isLink = and === server && between === agent;
      return { kind: "cut", atMs, between, and, how: random.pick(isLink ? ["fin", "rst", "silence"] : ["fin", "rst"]) };
    }
    case "stall":
      return { kind: "stall", atMs, between, and, forMs: random.between(10, 2_500) };
    case "freeze":
      return { kind: "freeze", atMs, who, forMs: random.between(10, random.chance(0.2) ? 30_000 : 2_500) };
    case "restart":
      return { kind: "restart", atMs, who, afterMs: random.between(10, 3_000) };
    case "drain":
      return { kind: "drain", atMs, who, limitMs: random.between(500, 6_000), afterMs: random.between(10, 1_000) };
    case "date":
      return { kind: "date", atMs, who, byMs: random.between(-7_200_000, 7_200_000) };
    case "refuse":
      return { kind: "refuse", atMs, who: server, forMs: random.between(10, 3_000) };
  }
}
