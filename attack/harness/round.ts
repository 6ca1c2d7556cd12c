import { get } from "../../test/support/processes/http.js";
import type { Attack, Target } from "../attack.js";
import { type Fixture, type Ground, NEWCOMER_WITHIN_MS } from "../fixtures/fixture.js";
import type { AttackOrder } from "./attacker.js";
import type { Child } from "./child.js";
import { MemoryMeter } from "./memory.js";
import type { Measured } from "./victim.js";
import type { AttackReport } from "./work.js";

/** What was seen while the attacker was at work, on its target or on the sink. */
export interface Round {
  readonly measured: Measured;
  readonly report: AttackReport;
  /** Why the newcomer did not get in. */
  readonly newcomer: string | undefined;
  /** How often the endpoints were reached that nobody may reach. */
  readonly forbidden: number;
  /** Highest resident memory of the attacked process; undefined when it has ended. */
  readonly peakMiB: number | undefined;
}

export interface RoundOrder {
  readonly attack: Attack;
  readonly target: Target;
  readonly ms: number;
  readonly seed: string;
  readonly newcomer?: boolean;
}

/** An attack ends by itself; beyond this it is the attacker that hangs. */
const GRACE_MS = 20_000;
const BEGIN_WITHIN_MS = 30_000;
const HEALTH_WITHIN_MS = 10_000;

export async function playRound(
  { ground, fixture, attacker }: { ground: Ground; fixture: Fixture; attacker: Child },
  { attack, target, ms, seed, newcomer: withNewcomer = true }: RoundOrder,
): Promise<Round> {
  const { victim } = ground;
  const memory = new MemoryMeter(fixture.attacked.pid);
  memory.reset();
  await victim.ask("begin", fixture.victims, BEGIN_WITHIN_MS);
  const order: AttackOrder = { attack: attack.name, target, ms, seed };
  const attacking = attacker.ask<AttackReport>("attack", order, ms + GRACE_MS);
  const [report, newcomer] = await Promise.allSettled([
    attacking,
    withNewcomer ? newcomerGetsIn(ground, fixture, ms) : undefined,
    // An attacker that is refused at once has done its work early; its victim is looked at for as long as the sink's.
    attack.noSink ? undefined : new Promise((resolve) => setTimeout(resolve, ms)),
  ]);
  const measured = await victim.ask<Measured>("end", undefined, BEGIN_WITHIN_MS);
  const forbidden = await victim.ask<number>("forbidden", undefined, BEGIN_WITHIN_MS);
  fixture.dismiss();
  if (report.status === "rejected") throw report.reason;
  return {
    measured,
    report: report.value,
    forbidden,
    newcomer: newcomer.status === "rejected" ? (newcomer.reason as Error).message.split("\n")[0] : undefined,
    peakMiB: fixture.attacked.running ? memory.peakMiB() : undefined,
  };
}

/** A third into the attack: a new agent, a look at the health port, then a new caller at each frontend. */
async function newcomerGetsIn({ victim }: Ground, fixture: Fixture, ms: number): Promise<void> {
  await new Promise((resolve) => setTimeout(resolve, ms / 3));
  await fixture.admit();
  if (fixture.healthPort !== undefined) {
    const { status } = await get(fixture.healthPort, "/healthz", HEALTH_WITHIN_MS);
    if (status !== 200) throw new Error(`/healthz answered ${status}`);
  }
  for (const plan of fixture.newcomers) await victim.ask("call", plan, NEWCOMER_WITHIN_MS);
}
