/**
 * What holds after every event, when everything that the event caused in the same turn has happened: bounds, windows, and
 * that nobody waits for something that has come already. What callers and endpoints read is compared byte by byte in
 * peers/talker.ts, and how dials are answered in the callers.
 */
import type { Tunnel } from "../../src/tunnel/connection/tunnel.js";
import { FIRST_WINDOW_BYTES, LEAST_ROOM_BYTES, OVERSHOOT_BYTES } from "../../src/tunnel/connection/window.js";
import type { PacketStream } from "../../src/tunnel/link/packet-stream.js";
import { HIGH_WATER_BYTES } from "../../src/tunnel/link/tuning.js";
import type { ConnectId } from "../../src/tunnel/wire/packet.js";
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

export function watch(system: System): void {
  const { world } = system;
  world.afterEvent = () => {
    for (const { isUp, host, server, plan } of system.servers.values()) {
      if (!isUp || !host.alive) continue;
      const { board } = server;
      let credit = 0;
      for (const link of board.registry.links()) {
        credit += watchLink(world, `${plan.name} towards ${link.identity.agentId}`, link, plan.limits);
        if (link.extended) compareWindows(system, plan.name, link.identity.agentId, link);
      }
      watchCredit(world, plan.name, credit, plan.limits);
      if (board.pendingDials < 0 || board.establishedTunnels < 0)
        world.fail("tables are right", `${plan.name} counts fewer than no dials or tunnels`);
      if (board.budget.queuedBytes < 0)
        world.fail("budgets are right", `${plan.name} counts fewer than no bytes that wait`);
    }
    for (const { isUp, host, agent, plan } of system.agents.values()) {
      if (!isUp || !host.alive) continue;
      let credit = 0;
      for (const link of agent.links())
        credit += watchLink(world, `${plan.name} towards ${link.serverId}`, link, plan.limits);
      watchCredit(world, plan.name, credit, plan.limits);
    }
  };
}

/** Returns the credit that its tunnels have beyond their first windows. */
function watchLink(world: World, where: string, link: LinkLike, limits: Limits): number {
  const { stream, tunnels, extended } = link;
  if (stream.closed) return 0;
  let credit = 0;
  let count = 1;
  for (const tunnel of tunnels.values()) {
    count++;
    if (tunnel.closed) continue;
    const name = `${where}, ${tunnel.info.address}`;
    const { sendWindow, receiveWindow, paused, port } = tunnel;
    const { queuedBytes } = port;
    if (receiveWindow !== undefined) credit += receiveWindow - FIRST_WINDOW_BYTES;
    if (sendWindow !== undefined && sendWindow < -OVERSHOOT_BYTES)
      world.fail("sent is within what was granted", `${name} has sent ${-sendWindow} bytes beyond its window`);
    const bound =
      receiveWindow === undefined ? limits.tunnelQueueBytes + 2 * ONE_READ : receiveWindow + OVERSHOOT_BYTES;
    if (queuedBytes > bound + AROUND)
      world.fail(
        "queues are within their bounds",
        `${name} has ${queuedBytes} bytes that wait, and ${bound} are allowed`,
      );
    if (!paused || stream.congested) continue;
    if (sendWindow === undefined || sendWindow >= LEAST_ROOM_BYTES)
      world.fail("nobody is paused without a reason", `${name} is paused, and neither link nor window holds it back`);
  }
  const most = HIGH_WATER_BYTES + count * (ONE_READ + 1024) + AROUND + (extended ? 0 : ONE_READ);
  if (stream.queuedBytes > most)
    world.fail(
      "queues are within their bounds",
      `${where} has ${stream.queuedBytes} bytes staged, and ${most} are allowed`,
    );
  return credit;
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
