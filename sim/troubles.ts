/** What happens to a world only seldom, each with numbers of its own: so the rest of the world is as without it. */
import { DEFAULT_LIMITS } from "../src/tunnel/connection/budget.js";
import type { CallerPlan, EndpointPlan, Fault, Scenario } from "./types.js";
import { Random } from "./world/random.js";

const KIB = 1024;

export function withTroubles(scenario: Scenario): Scenario {
  return withDrain(withGoaway(withSlowDial(scenario)));
}

const withFaults = (scenario: Scenario, faults: readonly Fault[]): Scenario => ({
  ...scenario,
  faults: [...scenario.faults, ...faults].sort((one, two) => one.atMs - two.atMs),
});

/** Agents are told to go elsewhere, most of them while somebody calls. */
function withGoaway(scenario: Scenario): Scenario {
  const { seed, callers } = scenario;
  const random = new Random(seed, "goaway");
  if (!random.chance(0.05)) return scenario;
  const { server, atMs } = random.pick(callers);
  return withFaults(scenario, [
    { kind: "goaway", atMs: Math.max(500, atMs + random.between(-2_000, 100)), who: server },
  ]);
}

/** A dial is pending for a while, and meanwhile its agents or its caller may go. */
function withSlowDial(scenario: Scenario): Scenario {
  const { seed, callers, parties } = scenario;
  const random = new Random(seed, "slow dial");
  if (!random.chance(0.1)) return scenario;
  const index = random.whole(0, callers.length - 1);
  const before = callers[index]!;
  const connects = random.pick(["accepts", "accepts", "silent", "unreachable"] as const);
  const lateMs = connects === "accepts" ? random.between(200, 3_000) : undefined;
  const endpoint: EndpointPlan = { ...before.endpoint, connects, ...(lateMs === undefined ? {} : { lateMs }) };
  const { patienceMs: _, ...patient } = before;
  const isPatient = random.chance(0.7);
  const caller: CallerPlan = isPatient
    ? { ...patient, endpoint }
    : { ...patient, endpoint, patienceMs: random.between(50, 2_500) };
  const agents = parties.filter(({ kind }) => kind === "agent").map(({ name }) => name);
  const faults = Array.from({ length: isPatient && connects !== "unreachable" ? random.whole(0, 2) : 0 }, (): Fault => {
    const atMs = caller.atMs + random.between(20, lateMs ?? 3_000);
    const agent = random.pick(agents);
    return random.chance(0.7)
      ? { kind: "cut", atMs, between: agent, and: caller.server, how: random.pick(["fin", "rst"]) }
      : { kind: "restart", atMs, who: agent, afterMs: random.between(10, 3_000) };
  });
  return withFaults({ ...scenario, callers: callers.map((each) => (each === before ? caller : each)) }, faults);
}

/** Nothing happens but that a server or an agent drains, while somebody sends slowly and others come. */
function withDrain(scenario: Scenario): Scenario {
  const { seed, callers, parties } = scenario;
  const random = new Random(seed, "drain");
  const number = random.float();
  if (number < 0.02) return withLastBytes(random, scenario);
  if (number > 0.08) return scenario;
  const [first] = callers;
  const atMs = random.between(2_000, 3_000);
  const limitMs = random.between(4_000, 10_000);
  const bytes = random.whole(20, 20_000);
  const chunks = random.whole(8, 20);
  const forMs = random.between(1_000, limitMs - 1_000);
  const sends = { bytes, chunkBytes: Math.ceil(bytes / chunks), pauseMs: forMs / chunks, afterBytes: 0 };
  const at = { everyMs: 0, bytes: 0 };
  const slow: CallerPlan = {
    ...{ name: first!.name, server: first!.server, mode: first!.mode, tls: first!.tls },
    ...{ atMs: random.between(1_000, 1_900), sends, reads: at, ends: { how: "last" } },
    endpoint: {
      connects: "accepts",
      ...(random.chance(0.5) ? { lateMs: random.between(100, 2_000) } : {}),
      sends: { bytes: random.whole(1, 4_000), chunkBytes: 4_000, pauseMs: 0, afterBytes: bytes },
      reads: at,
      ends: { how: "fin" },
    },
  };
  const others = callers.slice(1).map((each) => ({ ...each, atMs: atMs + random.between(-300, limitMs / 2) }));
  const agents = parties.filter((party) => party.kind === "agent" && party.wrong === undefined);
  const who = random.chance(0.4) ? slow.server : random.pick(agents).name;
  const drain: Fault = { kind: "drain", atMs, who, limitMs, afterMs: random.between(10, 3_000) };
  return { ...scenario, callers: [slow, ...others], faults: [drain] };
}

/** Its last bytes are on the way from its server to an agent when both ends have ended. */
function uploading(asks: Pick<CallerPlan, "name" | "server" | "tls" | "mode" | "atMs">, bytes: number): CallerPlan {
  const at = { everyMs: 0, bytes: 0 };
  return {
    ...asks,
    ...{ sends: { bytes, chunkBytes: 64 * KIB, pauseMs: 0, afterBytes: 0 }, reads: at, ends: { how: "fin" } },
    endpoint: {
      ...{ connects: "accepts", sends: { bytes: 10, chunkBytes: 10, pauseMs: 0, afterBytes: 0 } },
      ...{ reads: at, ends: { how: "fin" } },
    },
  };
}

/** The same, while the last bytes of tunnels that are over wait for a narrow link or a slow reader. */
function withLastBytes(random: Random, scenario: Scenario): Scenario {
  const { parties, network, callers } = scenario;
  const others = parties.filter((party) => party.kind === "server" || party.wrong === undefined);
  const agents = others.filter(({ kind }) => kind === "agent");
  const atMs = random.between(2_000, 3_000);
  const at = { everyMs: 0, bytes: 0 };
  const isOfAgent = random.chance(0.6);
  const isUp = !isOfAgent && random.chance(0.5);
  const few = callers.slice(0, 3).map(({ name, server, tls }): CallerPlan => {
    const bytes = random.whole((isOfAgent || isUp ? 80 : 20) * KIB, 150 * KIB);
    const asks = {
      name,
      server,
      tls,
      mode: "connect",
      atMs: atMs - random.between(0, isOfAgent || isUp ? 400 : 1_000),
    } as const;
    if (isUp) return uploading(asks, bytes);
    return {
      ...asks,
      sends: { bytes: 10, chunkBytes: 10, pauseMs: 0, afterBytes: 0 },
      reads: isOfAgent || random.chance(0.5) ? at : { everyMs: random.between(20, 150), bytes: 0 },
      ends: { how: random.pick(["fin", "fin", "last"]) },
      endpoint: {
        ...{ connects: "accepts", sends: { bytes, chunkBytes: 64 * KIB, pauseMs: 0, afterBytes: 10 } },
        ...{ reads: at, ends: { how: "fin" } },
      },
    };
  });
  const who = isOfAgent ? random.pick(agents).name : few[0]!.server;
  const drain: Fault = { kind: "drain", atMs, who, limitMs: 20_000, afterMs: random.between(10, 3_000) };
  return {
    ...scenario,
    network:
      isOfAgent || isUp
        ? { ...network, bufferBytes: [2 * KIB, 5 * KIB], latencyMs: [10, 20] }
        : { ...network, bufferBytes: [2 * KIB, 16 * KIB] },
    parties: others.map((party) => ({ ...party, limits: DEFAULT_LIMITS })),
    callers: few,
    faults: [drain],
  };
}
