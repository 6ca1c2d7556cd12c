import { AGENTS, SERVERS } from "../fixture/fixture.js";
import type { Random } from "../random.js";
import type { Fault, FaultKind } from "./fault.js";

/** Who lives through the whole run, so that a slow leak has all the time there is to show. */
export interface Veterans {
  readonly server: number;
  readonly agent: number;
}

interface Manner {
  readonly weight: number;
  readonly ms: readonly [least: number, most: number];
  /** Ends a process: only those that are no veterans. */
  readonly deadly?: boolean;
}

const MANNERS: Readonly<Partial<Record<FaultKind, Manner>>> = {
  "agent killed": { weight: 3, ms: [100, 4_000], deadly: true },
  "agent drained": { weight: 3, ms: [2_000, 7_000], deadly: true },
  "agent frozen": { weight: 2, ms: [500, 6_000] },
  "server killed": { weight: 3, ms: [100, 4_000], deadly: true },
  "server terminated": { weight: 2, ms: [100, 3_000], deadly: true },
  "server frozen": { weight: 3, ms: [500, 6_000] },
  "link stalled": { weight: 4, ms: [500, 8_000] },
  "link cut": { weight: 4, ms: [0, 4_000] },
  "link delayed": { weight: 3, ms: [2_000, 8_000] },
  "link slowed": { weight: 3, ms: [2_000, 6_000] },
  "server isolated": { weight: 2, ms: [500, 5_000] },
  "storm of short tunnels": { weight: 4, ms: [0, 0] },
};

const QUICK_KINDS = Object.keys(MANNERS) as FaultKind[];

/** Endless, and the same for the same seed. */
export function* quickFaults(random: Random, veterans: Veterans): Generator<Fault, never> {
  for (;;) yield plan(random, random.weighted(QUICK_KINDS.map((kind) => [MANNERS[kind]!.weight, kind])), veterans);
}

/** Every quick kind once, in a hurry. */
export function smokeFaults(random: Random, veterans: Veterans): Fault[] {
  return random.shuffled(QUICK_KINDS).map((kind) => {
    const fault = plan(random, kind, veterans);
    // With a turn below a half no agent takes its time to drain.
    return { ...fault, ms: Math.min(fault.ms, 800), restMs: 50, overlapping: true, turn: fault.turn / 2 };
  });
}

/** The kinds that nobody announces and that only an unanswered ping shows, within a minute: one a round. */
export function silentFault(random: Random): Fault {
  return {
    kind: random.pick<FaultKind>(["link half lost", "link dead for a minute"]),
    server: random.whole(0, SERVERS - 1),
    agent: random.whole(0, AGENTS - 1),
    ms: random.between(60_000, 66_000),
    restMs: 0,
    overlapping: true,
    turn: random.next(),
  };
}

function plan(random: Random, kind: FaultKind, veterans: Veterans): Fault {
  const { ms, deadly = false } = MANNERS[kind]!;
  const server = random.whole(0, SERVERS - 1);
  const agent = random.whole(0, AGENTS - 1);
  return {
    kind,
    server: deadly ? (veterans.server + 1) % SERVERS : server,
    agent: deadly ? (veterans.agent + 1) % AGENTS : agent,
    ms: random.between(...ms),
    restMs: random.between(200, 3_500),
    overlapping: random.chance(0.3),
    turn: random.next(),
  };
}
