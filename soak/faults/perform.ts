import { waitUntil } from "../../test/support/processes/deadline.js";
import type { House } from "../house/house.js";
import { sleep } from "../load/end.js";
import type { Area, Impacts, Severity } from "../watch/impacts.js";
import { drainAgent } from "./drain.js";
import type { Fault, FaultKind } from "./fault.js";
import { linkStands, untilLinksStand } from "./recovery.js";

export interface Stage {
  readonly house: House;
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
export async function perform(stage: Stage, fault: Fault): Promise<void> {
  await DEEDS[fault.kind](stage, fault);
}

type Deed = (stage: Stage, fault: Fault) => Promise<void>;

const DEEDS: Readonly<Record<FaultKind, Deed>> = {
  "agent killed": (stage, fault) =>
    during(stage, fault, "break", { agent: fault.agent }, async () => {
      const agent = stage.house.agents[fault.agent]!;
      await agent.daemon.stop("SIGKILL");
      await sleep(fault.ms);
      await agent.start(drainSecondsOf(fault));
    }),
  "agent drained": (stage, fault) => drainAgent(stage, fault, drainSecondsOf(fault), BACK_WITHIN_MS),
  "agent frozen": (stage, fault) =>
    during(stage, fault, "delay", { agent: fault.agent }, () => freeze(stage.house.agents[fault.agent]!, fault.ms)),
  "server killed": (stage, fault) =>
    during(stage, fault, "break", { server: fault.server }, async () => {
      const server = stage.house.servers[fault.server]!;
      await server.daemon.stop("SIGKILL");
      await sleep(fault.ms);
      await server.start();
    }),
  "server terminated": (stage, fault) =>
    during(stage, fault, "break", { server: fault.server }, async () => {
      const server = stage.house.servers[fault.server]!;
      const { code, signal } = await server.daemon.stop("SIGTERM");
      if (code !== 0) throw new Error(`${server.daemon.name} ended with ${signal ?? code} after SIGTERM`);
      await sleep(fault.ms);
      await server.start();
    }),
  "server frozen": (stage, fault) =>
    during(stage, fault, "delay", { server: fault.server }, () => freeze(stage.house.servers[fault.server]!, fault.ms)),
  "link stalled": onLink("delay", (relay) => relay.stall()),
  "link delayed": onLink("delay", (relay, { turn }) => relay.delay(10 + turn * 140)),
  "link slowed": onLink("delay", (relay, { turn }) => relay.slow((2 + turn * 6) * 1e6)),
  "link cut": onLink("break", (relay, { turn }) => relay.cut(turn < 0.5 ? "reset" : "end")),
  "server isolated": (stage, fault) =>
    during(stage, fault, "break", { server: fault.server }, async () => {
      const relays = stage.house.relays[fault.server]!;
      for (const relay of relays) relay.cut(fault.turn < 0.5 ? "reset" : "end");
      await sleep(fault.ms);
      for (const relay of relays) relay.clear();
    }),
  "storm of short tunnels": (stage, { turn }) => stage.storm(100 + Math.round(turn * 400)),
  "link half lost": async (stage, { server, agent, turn }) => {
    const relay = stage.house.relays[server]![agent]!;
    const impact = stage.impacts.begin("link half lost", "break", { server, agent });
    relay.loseSide(turn < 0.5 ? "agent" : "server", Math.floor(turn * 4) % 2 === 0);
    // One side knows at once: the agent comes a second time, or the server drops it. Then the other has to notice.
    const known = () => linkStands(stage.house, { server, agent }).then((stands) => !stands);
    await waitUntil("one side of the lost link to act", known, { withinMs: BACK_WITHIN_MS });
    await untilLinksStand(stage.house, { server, agent }, NOTICED_WITHIN_MS);
    relay.clear();
    stage.impacts.end(impact);
  },
  "link dead for a minute": onLink("break", (relay) => relay.stall(), NOTICED_WITHIN_MS),
};

function onLink(
  severity: Severity,
  spoil: (relay: House["relays"][number][number], fault: Fault) => void,
  backWithinMs = BACK_WITHIN_MS,
): Deed {
  return (stage, fault) => {
    const { server, agent, ms } = fault;
    const relay = stage.house.relays[server]![agent]!;
    const deed = async () => {
      spoil(relay, fault);
      await sleep(ms);
      relay.clear();
    };
    return during(stage, fault, severity, { server, agent }, deed, backWithinMs);
  };
}

/** Marks the paths that are touched for as long as they are. */
async function during(
  { house, impacts }: Stage,
  { kind }: Fault,
  severity: Severity,
  area: Area,
  deed: () => Promise<void>,
  backWithinMs = BACK_WITHIN_MS,
): Promise<void> {
  const impact = impacts.begin(kind, severity, area);
  await deed();
  // What was merely late has nothing to find again: it has to go on at once.
  if (severity === "break") await untilLinksStand(house, area, backWithinMs);
  impacts.end(impact);
}

async function freeze({ daemon }: { daemon: House["daemons"][number] }, ms: number): Promise<void> {
  daemon.signal("SIGSTOP");
  await sleep(ms);
  daemon.signal("SIGCONT");
}

/** Whether the agent ends by itself when it is drained the next time, or at a second signal as upstream's does. */
const drainSecondsOf = ({ turn }: Fault): number => (turn < 0.5 ? 0 : 3 + Math.round(turn * 4));
