/**
 * What holds after every event, when everything that the event caused in the same turn has happened: bounds, windows, and
 * that nobody waits for something that has come already. What callers and endpoints read is compared byte by byte in
 * peers/talker.ts, and how dials are answered in the callers.
 */
import type { Tunnel } from "../../src/tunnel/connection/tunnel.js";
import { FIRST_WINDOW_BYTES, LEAST_ROOM_BYTES, OVERSHOOT_BYTES } from "../../src/tunnel/connection/window.js";
import type { PacketStream } from "../../src/tunnel/link/packet-stream.js";
import { HIGH_WATER_BYTES } from "../../src/tunnel/link/tuning.js";
import type { AgentLink } from "../../src/tunnel/server/agents/agent-link.js";
import type { Switchboard } from "../../src/tunnel/server/switchboard.js";
import type { ConnectId } from "../../src/tunnel/wire/packet.js";
import type { SimAgent } from "../systems/agent.js";
import type { SimServer } from "../systems/server.js";
import type { System } from "../systems/system.js";
import type { Limits } from "../types.js";
import type { World } from "../world/world.js";

/** One read of a socket, which may come when a bound is almost reached. */
const ONE_READ = 64 * 1024;
/** What packets and frames add to the bytes that they carry, and control packets. */
const AROUND = 64 * 1024;

interface LinkLike {
  readonly stream: PacketStream;
  readonly extended: boolean;
  readonly tunnels: {
    values(): Iterable<Tunnel>;
    readonly size: number;
    get(connectId: ConnectId): Tunnel | undefined;
  };
}

/** What an event has changed, it has changed at the one whose event it was. */
export function watch(system: System): void {
  system.world.afterEvent = (host) => {
    if (host === undefined) return;
    const server = system.servers.get(host.name);
    if (server !== undefined) watchServer(system, server);
    else {
      const agent = system.agents.get(host.name);
      if (agent !== undefined) watchAgent(system, agent);
    }
  };
}

function watchServer(system: System, { isUp, host, server, plan }: SimServer): void {
  if (!isUp || !host.alive) return;
  const { world } = system;
  const { board } = server;
  let credit = 0;
  let dials = board.waiting.size;
  for (const link of board.registry.links()) {
    dials += link.pendingDials;
    if (link.draining) watchDraining(world, plan.name, link, board);
    credit += watchLink(system, plan.name, link.identity.agentId, link, plan.limits);
    if (link.extended && link.tunnels.size > 0) compareWindows(system, plan.name, link.identity.agentId, link);
  }
  watchCredit(world, plan.name, credit, plan.limits);
  if (board.pendingDials < 0 || board.establishedTunnels < 0)
    world.fail("tables are right", `${plan.name} counts fewer than no dials or tunnels`);
  if (board.pendingDials !== dials)
    world.fail(
      "tables are right",
      `${plan.name} counts ${board.pendingDials} pending dials, and its agents and waiting callers have ${dials}`,
    );
  if (board.budget.queuedBytes < 0)
    world.fail("budgets are right", `${plan.name} counts fewer than no bytes that wait`);
}

/** By link: when its agent was first known to drain, by the server's clock. */
const drainsSince = new WeakMap<AgentLink, number>();

/** Whoever drains gets a dial only where there is nobody else. */
function watchDraining(world: World, server: string, link: AgentLink, { registry, runtime }: Switchboard): void {
  const since = drainsSince.get(link);
  const now = runtime.now();
  if (since === undefined) drainsSince.set(link, now);
  if (since === undefined || since === now || link.pendingDials === 0) return;
  for (const { dialledAt, asked } of link.dials()) {
    if (dialledAt !== now || dialledAt !== asked.firstDialledAt) continue;
    for (const { draining, demotedUntil, unconfirmed, connectedAt, group, identity } of registry.links())
      if (!draining && !unconfirmed && Math.max(demotedUntil, group.demotedUntil) < since && connectedAt < since)
        world.fail(
          "dials go to agents that do not drain",
          `${server} has asked ${link.identity.agentId}, which drains, and has ${identity.agentId}`,
        );
  }
}

function watchAgent(system: System, { isUp, host, agent, plan }: SimAgent): void {
  if (!isUp || !host.alive) return;
  let credit = 0;
  for (const link of agent.links()) credit += watchLink(system, plan.name, link.serverId, link, plan.limits);
  watchCredit(system.world, plan.name, credit, plan.limits);
}

/** Returns the credit that its tunnels have beyond their first windows. */
function watchLink(system: System, from: string, to: string, link: LinkLike, limits: Limits): number {
  const { world } = system;
  const { stream, tunnels, extended } = link;
  if (stream.closed) return 0;
  let credit = 0;
  let count = 1;
  for (const tunnel of tunnels.values()) {
    count++;
    if (tunnel.closed) continue;
    const { sendWindow, receiveWindow, paused, port } = tunnel;
    const { queuedBytes } = port;
    if (receiveWindow !== undefined) credit += receiveWindow - FIRST_WINDOW_BYTES;
    if (sendWindow !== undefined && sendWindow < -overshootOf(system, tunnel))
      world.fail(
        "sent is within what was granted",
        `${from} towards ${to}, ${tunnel.info.address} has sent ${-sendWindow} bytes beyond its window`,
      );
    const bound =
      receiveWindow === undefined ? limits.tunnelQueueBytes + 2 * ONE_READ : receiveWindow + OVERSHOOT_BYTES;
    if (queuedBytes > bound + AROUND)
      world.fail(
        "queues are within their bounds",
        `${from} towards ${to}, ${tunnel.info.address} has ${queuedBytes} bytes that wait, and ${bound} are allowed`,
      );
    if (!paused || stream.congested) continue;
    if (sendWindow === undefined || sendWindow >= LEAST_ROOM_BYTES)
      world.fail(
        "nobody is paused without a reason",
        `${from} towards ${to}, ${tunnel.info.address} is paused, and neither link nor window holds it back`,
      );
  }
  const most = HIGH_WATER_BYTES + count * (ONE_READ + 1024) + AROUND + (extended ? 0 : ONE_READ);
  if (stream.queuedBytes > most)
    world.fail(
      "queues are within their bounds",
      `${from} towards ${to} has ${stream.queuedBytes} bytes staged, and ${most} are allowed`,
    );
  return credit;
}

/** A sender reads with room for a part of a read; what a caller sent before its dial was answered goes as one. */
function overshootOf({ conversations }: System, { sendWindow, info: { address } }: Tunnel): number {
  const usual = ONE_READ - LEAST_ROOM_BYTES;
  if (sendWindow! >= -usual) return usual;
  const isEarly = conversations.some((each) => each.address === address && each.plan.early === true);
  return isEarly ? OVERSHOOT_BYTES : usual;
}

function watchCredit(world: World, who: string, credit: number, { creditBudgetBytes }: Limits): void {
  if (credit > creditBudgetBytes)
    world.fail(
      "budgets are right",
      `${who} has granted ${credit} bytes beyond first windows, and ${creditBudgetBytes} are allowed`,
    );
}

/** A sender's window is what the receiver has granted, less what is on its way: never more than the receiver's own. */
function compareWindows(system: System, server: string, agentName: string, link: LinkLike): void {
  const agent = system.agents.get(agentName);
  if (agent === undefined || !agent.isUp || agent.starts > 1) return;
  for (const other of agent.agent.links()) {
    if (other.serverId !== server || other.stream.closed) continue;
    for (const tunnel of link.tunnels.values()) {
      const far = other.tunnels.get(tunnel.connectId);
      if (far === undefined || far.closed || tunnel.closed) continue;
      for (const [from, to] of [
        [tunnel, far],
        [far, tunnel],
      ] as const) {
        if (from.sendWindow! > to.receiveWindow!)
          system.world.fail(
            "sent is within what was granted",
            `${tunnel.info.address}: a sender may send ${from.sendWindow} bytes into a window of ${to.receiveWindow}`,
          );
        if (to.bytesToNear > from.bytesToFar)
          system.world.fail(
            "bytes are a prefix of what was sent",
            `${tunnel.info.address}: more arrived than was sent`,
          );
      }
    }
  }
}
