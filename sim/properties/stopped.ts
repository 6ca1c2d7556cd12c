/** Readers that stop hold up nobody else: the same world is run with them and without, and the others' ends are compared. */
import type { Conversation, System } from "../systems/system.js";
import type { CallerPlan, Failure, Scenario } from "../types.js";

/** What differs in the order of events alone. */
const TOLERANCE_MS = 500;

const stops = ({ reads, endpoint }: CallerPlan): boolean =>
  reads.stopsAfter !== undefined || endpoint.reads.stopsAfter !== undefined;

/** With one agent, so that everybody takes the same way in both worlds, and with windows, without which a slow reader is cut. */
export function isComparable({ parties, callers, faults }: Scenario): boolean {
  if (faults.length > 0 || parties.length !== 2 || !callers.some(stops) || callers.every(stops)) return false;
  return parties.every((party) => party.kind === "server" || (party.extended && party.wrong === undefined));
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
  for (const [index, conversation] of stopped.conversations.entries()) {
    if (stops(conversation.plan)) continue;
    const delayMs = endOf(conversation) - endOf(free.conversations[index]!);
    if (delayMs <= TOLERANCE_MS) continue;
    const message = `${conversation.plan.name} ended ${Math.round(delayMs)} ms later because others do not read`;
    return { property: "a stopped reader delays nobody else", message, atMs: endOf(conversation) };
  }
  return undefined;
}

const endOf = ({ asked, endpoints }: Conversation): number =>
  Math.max(asked?.talker.closedAtMs ?? 0, ...endpoints.map(({ talker }) => talker.closedAtMs));
