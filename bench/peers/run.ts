/** All tunnels by turns in the same rounds: each row with every one of them, in an order that turns round. */
import { setTimeout as sleep } from "node:timers/promises";
import { Scope } from "../../test/support/processes/scope.js";
import { type Ground, layGround } from "../contenders/ground.js";
import { drive, type Held, holdTunnels } from "../load/drive.js";
import { measuredLine } from "../progress.js";
import { faultsOf } from "../rows/metered.js";
import type { Measurement } from "../rows/row.js";
import type { Ends } from "./ends.js";
import { IDLE_TUNNELS, memory, type PeerRow, residentOf, SETTLE_SECONDS } from "./rows.js";
import type { Tunnel } from "./tunnel.js";

export interface Plan {
  readonly tunnels: readonly Tunnel[];
  readonly rows: readonly PeerRow[];
  readonly withMemory: boolean;
  readonly rounds: number;
  readonly seconds: number;
  readonly say: (line: string) => void;
}

export interface Step {
  readonly row: Omit<PeerRow, "measure">;
  readonly tunnel: Tunnel;
  readonly round: number;
  readonly measurement: Measurement;
}

const FRESH_MS = 1_000;

export async function playComparison({ tunnels, rows, withMemory, rounds, seconds, say }: Plan): Promise<Step[]> {
  const ground = await layGround();
  const steps: Step[] = [];
  const note = (step: Step) => {
    steps.push(step);
    say(measuredLine(rounds, { ...step, name: step.tunnel.name }));
  };
  try {
    if (withMemory) await holdAll(tunnels, ground, note);
    for (let round = 0; round < rounds; round++) {
      const running = new Running(ground);
      try {
        for (const row of rows) {
          const chosen = tunnels.filter(({ kind }) => kind !== undefined || !row.onlyTunnels);
          for (const tunnel of round % 2 === 0 ? chosen : chosen.toReversed()) {
            note({ row, tunnel, round, measurement: await running.measure(tunnel, row, seconds) });
          }
        }
      } finally {
        await running.close();
      }
    }
  } finally {
    await ground.close();
  }
  return steps;
}

/** The tunnels of a round: each is started once, and again when it has failed. */
class Running {
  readonly #ground: Ground;
  readonly #open = new Map<Tunnel, { scope: Scope; ends: Ends }>();

  constructor(ground: Ground) {
    this.#ground = ground;
  }

  async measure(tunnel: Tunnel, row: PeerRow, seconds: number): Promise<Measurement> {
    try {
      const measurement = await row.measure(await this.#ends(tunnel), seconds);
      if (row.breaks || measurement.faults.length > 0) await this.#drop(tunnel);
      return measurement;
    } catch (reason) {
      await this.#drop(tunnel);
      return failed(reason);
    }
  }

  async close(): Promise<void> {
    for (const tunnel of this.#open.keys()) await this.#drop(tunnel);
  }

  async #ends(tunnel: Tunnel): Promise<Ends> {
    const known = this.#open.get(tunnel);
    if (known) return known.ends;
    const scope = new Scope();
    try {
      const ends = await tunnel.start(scope, this.#ground);
      if (ends.hasProcesses) await warmUp(ends);
      this.#open.set(tunnel, { scope, ends });
      return ends;
    } catch (reason) {
      await scope.close();
      throw reason;
    }
  }

  async #drop(tunnel: Tunnel): Promise<void> {
    const open = this.#open.get(tunnel);
    this.#open.delete(tunnel);
    await open?.scope.close();
  }
}

/** Long-lived processes are what is compared, so each path is used before it is measured. */
async function warmUp({ route }: Ends): Promise<void> {
  await drive(route, "new-tunnels", { tunnels: 32, warmupSeconds: 0, seconds: 1.5 });
  await drive(route, "ping-pong", { tunnels: 16, warmupSeconds: 0, seconds: 0.5 });
}

/** All tunnels at the same time, since all they do is wait. */
async function holdAll(tunnels: readonly Tunnel[], ground: Ground, note: (step: Step) => void): Promise<void> {
  const all = new Scope();
  const step = (tunnel: Tunnel, measurement: Measurement) => note({ row: memory, tunnel, round: 0, measurement });
  const holding: { tunnel: Tunnel; ends: Ends; fresh: number; held: Held }[] = [];
  try {
    for (const tunnel of tunnels.filter(({ kind }) => kind !== undefined)) {
      try {
        const ends = await tunnel.start(all, ground);
        await sleep(FRESH_MS);
        const fresh = residentOf(ends);
        holding.push({ tunnel, ends, fresh, held: await holdTunnels(ends.route, IDLE_TUNNELS) });
      } catch (reason) {
        step(tunnel, failed(reason));
      }
    }
    await sleep(SETTLE_SECONDS * 1_000);
    for (const { tunnel, ends, fresh, held } of holding) {
      const resident = residentOf(ends);
      const faults = await held.release().then(faultsOf, (reason) => failed(reason).faults);
      step(tunnel, { values: { held: resident, fresh, each: ((resident - fresh) * 1024) / IDLE_TUNNELS }, faults });
    }
  } finally {
    await all.close();
  }
}

const failed = (reason: unknown): Measurement => ({
  values: {},
  faults: [{ kind: "failed", text: reason instanceof Error ? reason.message : String(reason) }],
});
