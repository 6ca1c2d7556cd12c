import type { Origin } from "../../test/support/processes/executables.js";
import { Scope } from "../../test/support/processes/scope.js";
import type { Attack, Target } from "../attack.js";
import type { Fixture, Ground } from "../fixtures/fixture.js";
import { layGround, makeFixture } from "../fixtures/index.js";
import { Child } from "./child.js";
import { playRound, type Round, type RoundOrder } from "./round.js";
import { judge, type Pair, tooSlow, type Verdict } from "./verdict.js";

export interface SuiteOptions {
  readonly attacks: readonly Attack[];
  readonly short: boolean;
  readonly seed: string;
  readonly origin: Origin;
  readonly onVerdict: (verdict: Verdict) => void;
}

const LONG_ROUNDS = 2;
/** How often more a pair of rounds is played when only its latency was too high: a busy machine can do that, too. */
const SECOND_LOOKS = 5;
const LONG_SECONDS = 1.5;
/** Longer attacks wait for something to end; what they are compared with need not. */
const LONGEST_SINK_SECONDS = 3;
const SHORT_SECONDS = 0.8;
/** Of a short run: what is compared with may be measured for less long, and without a newcomer. */
const SHORT_SINK_SHARE = 0.7;

/** Makes the attacks one after the other; those on the same kind of fixture follow each other in a short run and share it. */
export async function playSuite({ attacks, short, seed, origin, onVerdict }: SuiteOptions): Promise<Verdict[]> {
  const scope = new Scope();
  const verdicts: Verdict[] = [];
  try {
    const ground = await layGround(scope, origin);
    let fixture: AttackedFixture | undefined;
    scope.defer(() => fixture?.close());
    for (const attack of attacks) {
      const key = `${attack.fixture} ${frontendOf(attack)}`;
      let verdict: Verdict;
      const skipped = attack.unavailable?.();
      if (skipped !== undefined) verdict = { ...judge(attack, [], false), skipped, failures: [] };
      else {
        if (fixture && (!short || fixture.key !== key || !fixture.usable)) {
          await fixture.close();
          fixture = undefined;
        }
        fixture ??= await AttackedFixture.up(key, attack, ground);
        verdict = await fixture.withstand(attack, { short, seed });
      }
      verdicts.push(verdict);
      onVerdict(verdict);
    }
    return verdicts;
  } finally {
    await scope.close();
  }
}

/** Upstream's server has one frontend: the one that is attacked. */
const frontendOf = ({ against }: Attack): "connect" | "grpc" =>
  against.includes("gRPC frontend") ? "grpc" : "connect";

/** Between choosing a free port and opening it, somebody else on the machine may have taken it. */
async function patiently<T>(make: () => Promise<T>): Promise<T> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await make();
    } catch (reason) {
      if (attempt === 3) throw reason;
    }
  }
}

/** A fixture with its sink and its attacker. */
class AttackedFixture {
  readonly key: string;
  readonly #ground: Ground;
  readonly #fixture: Fixture;
  readonly #sinkTarget: Target;
  #attacker: Child | undefined;
  #usable = true;

  private constructor(key: string, ground: Ground, fixture: Fixture, sinkTarget: Target) {
    [this.key, this.#ground, this.#fixture, this.#sinkTarget] = [key, ground, fixture, sinkTarget];
  }

  static async up(key: string, attack: Attack, ground: Ground): Promise<AttackedFixture> {
    const fixture = await patiently(() => makeFixture(attack.fixture, ground, frontendOf(attack)));
    const { target, identities } = fixture;
    return new AttackedFixture(
      key,
      ground,
      fixture,
      await ground.sink.ask<Target>("open", { dir: ground.dir, target, identities }, 10_000),
    );
  }

  get usable(): boolean {
    return this.#usable;
  }

  async withstand(attack: Attack, { short, seed }: { short: boolean; seed: string }): Promise<Verdict> {
    const seconds = short ? (attack.shortSeconds ?? SHORT_SECONDS) : (attack.seconds ?? LONG_SECONDS);
    const pairs: Pair[] = [];
    let broken: string | undefined;
    const rounds = short || seconds > LONGEST_SINK_SECONDS ? 1 : LONG_ROUNDS;
    try {
      for (let turn = 0; turn < rounds || (turn < rounds + SECOND_LOOKS && tooSlow(pairs)); turn++) {
        const order = { attack, ms: seconds * 1000, seed: `${seed} ${attack.name} ${turn}` };
        const sinkMs = Math.min(order.ms * (short ? SHORT_SINK_SHARE : 1), LONGEST_SINK_SECONDS * 1000);
        const sinkOrder = { ...order, ms: sinkMs, newcomer: !short };
        const sunk = attack.noSink ? undefined : await this.#sinkRound(sinkOrder);
        pairs.push({ sunk, attacked: await this.#play({ ...order, target: this.#fixture.target }) });
        if (!this.#fixture.processes.every(({ running }) => running)) break;
      }
    } catch (reason) {
      broken = (reason as Error).message;
    }
    for (const { running, name, log } of this.#fixture.processes) {
      if (!running) broken = `${name} ended: ${log.tail(3).trim()}`;
    }
    // Upstream holds many attackers where we end them; both will do.
    const mustEnd =
      this.#ground.origin === "ours" && (attack.mustEnd === true || (attack.mustEnd === "long" && !short));
    const verdict = judge(attack, pairs, mustEnd, broken);
    this.#usable = verdict.failures.length === 0;
    return verdict;
  }

  async #sinkRound(order: Omit<RoundOrder, "target">): Promise<Round> {
    const { hostile } = this.#fixture.target;
    if (!hostile) return await this.#play({ ...order, target: this.#sinkTarget });
    const { cert: agentCert, key: agentKey } = this.#ground.pki.agent;
    // A port that the agent does not know: only the sink's agent comes.
    const elsewhere = { ...hostile, port: hostile.port + 1 };
    await this.#ground.sink.ask("agent", { ...elsewhere, agentCert, agentKey }, 10_000);
    try {
      return await this.#play({ ...order, target: { ...this.#sinkTarget, hostile: elsewhere } });
    } finally {
      await this.#ground.sink.ask("noAgent", undefined, 10_000);
    }
  }

  async #play(order: RoundOrder): Promise<Round> {
    this.#attacker ??= new Child("the attacker", "attacker.ts");
    try {
      return await playRound({ ground: this.#ground, fixture: this.#fixture, attacker: this.#attacker }, order);
    } catch (reason) {
      await this.#attacker.close();
      this.#attacker = undefined;
      throw reason;
    }
  }

  async close(): Promise<void> {
    await this.#attacker?.close();
    await this.#fixture.close();
  }
}
