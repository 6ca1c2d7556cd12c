/** What goes wrong, and when. */
import { watchSilence } from "../properties/links.js";
import type { System } from "../systems/system.js";
import type { Fault, NetworkPlan, Scenario } from "../types.js";

/** A server that is silent is noticed by an agent's pings within this, and the other way round. */
const NOTICED_MS = 60_000;

export const isSilent = (fault: Fault): boolean => fault.kind === "cut" && fault.how === "silence";

/** When everybody can have noticed it, too. */
export function noticedAt(fault: Fault): number {
  return endOf(fault) + (isSilent(fault) ? NOTICED_MS : 0);
}

/** All that anybody wants to send, at any server or at one. */
export function bytesOf({ callers }: Scenario, at?: string): number {
  const there = at === undefined ? callers : callers.filter(({ server }) => server === at);
  return there.reduce((sum, { sends, endpoint }) => sum + sends.bytes + endpoint.sends.bytes, 0);
}

/** What the slowest connection that the plan allows takes for so many bytes: a buffer in each round trip. */
export function transferMs({ latencyMs, bufferBytes }: NetworkPlan, bytes: number): number {
  return (bytes / bufferBytes[0]) * ROUND_TRIP * latencyMs[1];
}

/** In latencies, each of which varies by a tenth. */
const ROUND_TRIP = 2.2;

/** When the fault is over. */
export function endOf(fault: Fault): number {
  switch (fault.kind) {
    case "cut":
      return fault.atMs;
    case "stall":
    case "freeze":
    case "refuse":
      return fault.atMs + fault.forMs;
    case "restart":
      return fault.atMs + fault.afterMs;
    case "drain":
      return fault.atMs + fault.limitMs + fault.afterMs;
    case "date":
    case "goaway":
      return fault.atMs;
  }
}

export function plan(system: System, fault: Fault): void {
  system.world.after(fault.atMs, `fault: ${fault.kind}`, () => happen(system, fault));
}

function happen(system: System, fault: Fault): void {
  const { world, network, servers, agents, wrongAgents } = system;
  const name = "who" in fault ? fault.who : "";
  const who = servers.get(name) ?? agents.get(name) ?? wrongAgents.get(name);
  switch (fault.kind) {
    case "cut":
      for (const connection of network.between(fault.between, fault.and)) connection.cut(fault.how);
      if (fault.how === "silence") watchSilence(system, fault.between, fault.and);
      break;
    case "stall":
      network.stall(fault.between, fault.and, world.now + fault.forMs);
      break;
    case "freeze": {
      const host = who?.host;
      host?.freeze();
      world.after(fault.forMs, "thaw", () => host?.thaw());
      break;
    }
    case "restart":
      who?.kill();
      world.after(fault.afterMs, "starts again", () => startAgain(system, who));
      break;
    case "drain": {
      if (who?.isUp !== true) break;
      const host = who.host;
      host.tick(() => {
        void who.drain(fault.limitMs).then(() => {
          world.after(fault.afterMs, "starts again", () => startAgain(system, who));
        });
      });
      break;
    }
    case "goaway":
      servers.get(fault.who)?.askToGo();
      break;
    case "date":
      if (who !== undefined) who.host.dateOffsetMs += fault.byMs;
      break;
    case "refuse":
      network.refuse(`${fault.who}:`, world.now + fault.forMs);
      break;
  }
}

function startAgain(system: System, who: { restart(): void } | undefined): void {
  if (!system.isEnding) who?.restart();
}
