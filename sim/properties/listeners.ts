/** Objects that outlive tunnels have as many listeners when there is no tunnel as when there was none before. */
import type { EventEmitter } from "node:events";
import type { Session } from "../../src/tunnel/link/open.js";
import type { System } from "../systems/system.js";
import type { World } from "../world/world.js";

type Emitter = Pick<EventEmitter, "eventNames" | "listenerCount"> & { readonly writableEnded?: boolean };

const countsOf = (emitter: Emitter): ReadonlyMap<string | symbol, number> =>
  new Map(emitter.eventNames().map((event) => [event, emitter.listenerCount(event)]));

/** By what is looked at: what it had the first time. */
const firstCounts = new WeakMap<Emitter, ReadonlyMap<string | symbol, number>>();

/** Whenever it has nothing to do; the first time before it ever had. */
export function lookForListeners(world: World, what: string, emitter: Emitter): void {
  // The end of a socket has a deadline, which is over when the socket closes.
  if (emitter.writableEnded === true) return;
  const first = firstCounts.get(emitter);
  if (first === undefined) {
    firstCounts.set(emitter, countsOf(emitter));
    return;
  }
  for (const [event, count] of countsOf(emitter)) {
    const before = first.get(event) ?? 0;
    if (count > before)
      world.fail("no listener is left", `${what} has ${count} listeners for ${String(event)}, and had ${before}`);
  }
}

/** The connections of links on which nothing is open, at both ends. */
export function lookAtLinks({ world, servers, agents, network }: System): void {
  for (const { plan, isUp, server } of servers.values()) {
    if (!isUp) continue;
    for (const { load, identity, connection } of server.board.registry.links()) {
      const { agentId } = identity;
      const agent = agents.get(agentId);
      const isLinked = ({ serverId }: { serverId: string }): boolean => serverId === plan.name;
      if (load > 0 || agent?.isUp !== true || ![...agent.agent.links()].some(isLinked)) continue;
      const session = connection as Session;
      lookForListeners(world, `${plan.name}'s session with ${agentId}`, session);
      for (const { near, far } of network.connections) {
        if ((far as unknown) !== session.socket) continue;
        lookForListeners(world, `${plan.name}'s connection with ${agentId}`, far);
        lookForListeners(world, `${agentId}'s connection with ${plan.name}`, near);
      }
    }
  }
}
