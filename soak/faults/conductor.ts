import { sleep } from "../load/end.js";
import type { Random } from "../random.js";
import type { Court } from "../watch/court.js";
import type { Tally } from "../watch/tally.js";
import type { Fault } from "./fault.js";
import { type FaultContext, perform } from "./perform.js";
import { quickFaults, silentFault, smokeFaults, type Veterans } from "./plan.js";
import { linksIn } from "./recovery.js";

/** A silent fault and its recovery need this much of a round. */
const SILENT_NEEDS_MS = 125_000;
/** What a fault that begins now may need before the round's calm. */
const QUICK_NEEDS_MS = 6_000;

export interface ConductorOptions {
  readonly context: FaultContext;
  readonly court: Court;
  readonly tally: Tally;
  readonly veterans: Veterans;
  /** Told of each fault as it begins and when it has been recovered from. */
  readonly log: (line: string) => void;
}

/** Plays the faults of a round; nothing that a fault needs is touched by another one at the same time. */
export class Conductor {
  readonly #options: ConductorOptions;
  readonly #busy = new Set<string>();

  constructor(options: ConductorOptions) {
    this.#options = options;
  }

  /** All faults are over and have been recovered from when this resolves. */
  async playRound(random: Random, forMs: number, smoke: boolean): Promise<void> {
    const { veterans } = this.#options;
    const until = performance.now() + forMs;
    const running: Promise<void>[] = [];
    if (forMs >= SILENT_NEEDS_MS && random.chance(0.7)) running.push(this.#play(silentFault(random.fork("silent"))));
    const faults = random.fork("quick");
    for (const fault of smoke ? smokeFaults(faults, veterans) : quickFaults(faults, veterans)) {
      if (!smoke && performance.now() + QUICK_NEEDS_MS > until) break;
      if (this.#options.court.first) break;
      if (needsOf(fault).some((need) => this.#busy.has(need))) {
        if (!smoke) continue;
        await Promise.all(running.splice(0));
      }
      const played = this.#play(fault);
      running.push(played);
      if (!fault.overlapping) await played;
      await sleep(fault.restMs);
    }
    await Promise.all(running);
  }

  async #play(fault: Fault): Promise<void> {
    const { context, court, tally, log } = this.#options;
    const needs = needsOf(fault);
    for (const need of needs) this.#busy.add(need);
    tally.fault(fault.kind);
    const { kind, server, agent, ms } = fault;
    const name = `${kind} (server ${server + 1}, agent ${agent + 1}, ${Math.round(ms)} ms)`;
    log(name);
    try {
      await perform(context, fault);
      log(`${name}: over`);
    } catch (reason) {
      court.violation(`${fault.kind}: ${reason instanceof Error ? reason.message : String(reason)}`);
    } finally {
      for (const need of needs) this.#busy.delete(need);
    }
  }
}

/** What must be left alone meanwhile: a process that is ended also needs the links it has to come back over. */
function needsOf({ kind, server, agent }: Fault): string[] {
  const links = (area: { server?: number; agent?: number }) =>
    linksIn(area).map((link) => `link ${link.server}-${link.agent}`);
  if (kind === "storm of short tunnels") return [];
  if (kind === "agent frozen") return [`agent ${agent}`];
  if (kind === "server frozen") return [`server ${server}`];
  if (kind === "agent killed" || kind === "agent drained") return [`agent ${agent}`, ...links({ agent })];
  if (kind.startsWith("server ")) return [`server ${server}`, ...links({ server })];
  return links({ server, agent });
}
