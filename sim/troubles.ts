/** What happens to a world only seldom, each with numbers of its own: so the rest of the world is as without it. */
import type { CallerPlan, EndpointPlan, Fault, Scenario } from "./types.js";
import { Random } from "./world/random.js";

export function withTroubles(scenario: Scenario): Scenario {
  return withGoaway(withSlowDial(scenario));
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
