import { waitUntil } from "../../test/support/processes/deadline.js";
import type { Fixture } from "../fixture/fixture.js";
import { sleep } from "../load/end.js";
import type { Area, Impacts, Severity } from "../watch/impacts.js";
import { drainAgent } from "./drain.js";
import type { Fault, FaultKind } from "./fault.js";
import { linkStands, untilLinksStand } from "./recovery.js";

export interface FaultContext {
  readonly fixture: Fixture;
  readonly impacts: Impacts;
  /** So many short tunnels, all at once. */
  storm(tunnels: number): Promise<void>;
  /** Errands begun after this moment that run over the agent while another one was free to take them. */
  misplaced(agent: number, since: number): string | undefined;
}

/**
 * As shipped an agent looks for a lost server every second, more slowly up to every ten, one server at a time; an attempt
 * that hangs (a dead link) gives up after twenty.
 */
const BACK_WITHIN_MS = 45_000;
/** A silent loss is noticed within 55 s. */
const NOTICED_WITHIN_MS = 110_000;

/** Does it, undoes it, and resolves once everything it touched serves again. Rejects with a sentence when that fails. */
export async function perform(context: FaultContext, fault: Fault): Promise<void> {
  await DEEDS[fault.kind](context, fault);
}

type Deed = (context: FaultContext, fault: Fault) => Promise<void>;

const DEEDS: Readonly<Record<FaultKind, Deed>> = {
  "agent killed": (context, fault) =>
    during(context, fault, "break", { agent: fault.agent }, async () => {
      const agent = context.fixture.agents[fault.agent]!;
      await agent.daemon.stop("SIGKILL");
      await sleep(fault.ms);
      await agent.start(drainSecondsOf(fault));
    }),
  "agent drained": (context, fault) => drainAgent(context, fault, drainSecondsOf(fault), BACK_WITHIN_MS),
  "agent frozen": (context, fault) =>
    during(context, fault, "delay", { agent: fault.agent }, () =>
      freeze(context.fixture.agents[fault.agent]!, fault.ms),
    ),
  "server killed": (context, fault) =>
    during(context, fault, "break", { server: fault.server }, async () => {
      const server = context.fixture.servers[fault.server]!;
      await server.daemon.stop("SIGKILL");
      await sleep(fault.ms);
      await server.start();
    }),
  "server terminated": (context, fault) =>
    during(context, fault, "break", { server: fault.server }, async () => {
      const server = context.fixture.servers[fault.server]!;
      const { code, signal } = await server.daemon.stop("SIGTERM");
      if (code !== 0) throw new Error(`${server.daemon.name} ended with ${signal ?? code} after SIGTERM`);
      await sleep(fault.ms);
      await server.start();
    }),
  "server frozen": (context, fault) =>
    during(context, fault, "delay", { server: fault.server }, () =>
      freeze(context.fixture.servers[fault.server]!, fault.ms),
    ),
  "link stalled": onLink("delay", (relay) => relay.stall()),
  "link delayed": onLink("delay", (relay, { turn }) => relay.delay(10 + turn * 140)),
  "link slowed": onLink("delay", (relay, { turn }) => relay.slow((2 + turn * 6) * 1e6)),
  "link cut": onLink("break", (relay, { turn }) => relay.cut(turn < 0.5 ? "reset" : "end")),
  "server isolated": (context, fault) =>
    during(context, fault, "break", { server: fault.server }, async () => {
      const relays = context.fixture.relays[fault.server]!;
      for (const relay of relays) relay.cut(fault.turn < 0.5 ? "reset" : "end");
      await sleep(fault.ms);
      for (const relay of relays) relay.clear();
    }),
  "storm of short tunnels": (context, { turn }) => context.storm(100 + Math.round(turn * 400)),
  "link half lost": async (context, { server, agent, turn }) => {
    const relay = context.fixture.relays[server]![agent]!;
    const impact = context.impacts.begin("link half lost", "break", { server, agent });
    relay.loseSide(turn < 0.5 ? "agent" : "server", Math.floor(turn * 4) % 2 === 0);
    // One side knows at once: the agent comes a second time, or the server drops it. Then the other has to notice.
    const known = () => linkStands(context.fixture, { server, agent }).then((stands) => !stands);
    await waitUntil("one side of the lost link to act", known, { withinMs: BACK_WITHIN_MS });
    await untilLinksStand(context.fixture, { server, agent }, NOTICED_WITHIN_MS);
    relay.clear();
    context.impacts.end(impact);
  },
  "link dead for a minute": onLink("break", (relay) => relay.stall(), NOTICED_WITHIN_MS),
};

function onLink(
  severity: Severity,
  spoil: (relay: Fixture["relays"][number][number], fault: Fault) => void,
  backWithinMs = BACK_WITHIN_MS,
): Deed {
  return (context, fault) => {
    const { server, agent, ms } = fault;
    const relay = context.fixture.relays[server]![agent]!;
    const deed = async () => {
      spoil(relay, fault);
      await sleep(ms);
      relay.clear();
    };
    return during(context, fault, severity, { server, agent }, deed, backWithinMs);
  };
}

/** Marks the paths that are touched for as long as they are. */
async function during(
  { fixture, impacts }: FaultContext,
  { kind }: Fault,
  severity: Severity,
  area: Area,
  deed: () => Promise<void>,
  backWithinMs = BACK_WITHIN_MS,
): Promise<void> {
  const impact = impacts.begin(kind, severity, area);
  await deed();
  // What was merely late has nothing to find again: it has to go on at once.
  if (severity === "break") await untilLinksStand(fixture, area, backWithinMs);
  impacts.end(impact);
}

async function freeze({ daemon }: { daemon: Fixture["daemons"][number] }, ms: number): Promise<void> {
  daemon.signal("SIGSTOP");
  await sleep(ms);
  daemon.signal("SIGCONT");
}

/** Whether the agent ends by itself when it is drained the next time, or at a second signal as upstream's does. */
const drainSecondsOf = ({ turn }: Fault): number => (turn < 0.5 ? 0 : 3 + Math.round(turn * 4));
