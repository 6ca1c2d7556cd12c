/** Readers that stop hold up nobody else: the same world is run with them and without, and the others' ends are compared. */
import type { Conversation, System } from "../systems/system.js";
import type { CallerPlan, Failure, Scenario } from "../types.js";

/**
 * A narrow link carries one of its buffers in a round trip or two, as the moments of writing fall: so the same bytes may take
 * twice as long. Few bytes may be behind others for a few round trips, of up to 44 ms each.
 */
const TOLERANCE = 1;
const TOLERANCE_MS = 300;

const stops = ({ reads, endpoint }: CallerPlan): boolean =>
  reads.stopsAfter !== undefined || endpoint.reads.stopsAfter !== undefined;

/** Without windows a reader that has stopped may hold up the others for so long, and is cut then. */
const ALLOWANCE_MS = 1_000;

/**
 * With one agent, so that everybody takes the same way in both worlds. One without windows does not see that others wait
 * when an endpoint does not read: their dials are behind what it leaves unread.
 */
export function isComparable({ parties, callers, faults }: Scenario): boolean {
  if (faults.length > 0 || parties.length !== 2 || !callers.some(stops) || callers.every(stops)) return false;
  const endpointStops = callers.some(({ endpoint }) => endpoint.reads.stopsAfter !== undefined);
  return parties.every(
    (party) => party.kind === "server" || (party.wrong === undefined && (party.extended || !endpointStops)),
  );
}

function toleranceOf({ parties, callers }: Scenario): number {
  const hasWindows = parties.every((party) => party.kind === "server" || party.extended);
  return TOLERANCE_MS + (hasWindows ? 0 : ALLOWANCE_MS * callers.filter(stops).length);
}

export function withoutStops(scenario: Scenario): Scenario {
  const callers = scenario.callers.map((caller) => {
    const { reads, endpoint } = caller;
    const { stopsAfter: _one, ...reading } = reads;
    const { stopsAfter: _two, ...endpointReading } = endpoint.reads;
    return { ...caller, reads: reading, endpoint: { ...endpoint, reads: endpointReading } };
  });
  return { ...scenario, callers };
}

export function judgeDelay(stopped: System, free: System): Failure | undefined {
  const toleranceMs = toleranceOf(stopped.scenario);
  for (const [index, conversation] of stopped.conversations.entries()) {
    if (stops(conversation.plan)) continue;
    const endMs = endOf(free.conversations[index]!);
    const restedMs = Math.max(0, restOf(conversation) - restOf(free.conversations[index]!));
    const delayMs = endOf(conversation) - endMs - restedMs;
    const tookMs = endMs - conversation.plan.atMs;
    // Once everybody reads, those who had stopped have their share of the network, too.
    if (delayMs <= Math.max(toleranceMs, TOLERANCE * tookMs) || endMs > stopped.calmAtMs) continue;
    const message = `${conversation.plan.name} ended ${Math.round(delayMs)} ms later because others do not read`;
    return { property: "a stopped reader delays nobody else", message, atMs: endOf(conversation) };
  }
  return undefined;
}

/** Whoever pauses after every read does so more often where the same bytes come in more pieces. */
const restOf = ({ asked, endpoints }: Conversation): number =>
  endpoints.reduce((sum, { talker }) => sum + talker.pausedMs, asked?.talker.pausedMs ?? 0);

const endOf = ({ asked, endpoints }: Conversation): number =>
  Math.max(asked?.talker.closedAtMs ?? 0, ...endpoints.map(({ talker }) => talker.closedAtMs));
