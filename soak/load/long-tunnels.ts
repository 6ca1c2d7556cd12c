import type { DoorKind } from "../fixture/frontends.js";
import type { Random } from "../random.js";
import { Broken } from "./broken.js";
import { sleep } from "./end.js";
import type { Ends } from "./job.js";
import type { Runner, Where } from "./runner.js";
import { part } from "./scenarios/part.js";
import { KIB } from "./scenarios/scenario.js";
import { exchange } from "./scenarios/talking.js";

interface Slot {
  readonly kind: "ping-pong" | "idle";
  readonly where: Where;
  readonly random: Random;
  answeredAt: number;
}

const LOOK_MS = 100;

/** Tunnels that are there all the time: some talk without a pause, most are silent for long and must still answer. */
export class LongTunnels {
  readonly #runner: Runner;
  readonly #slots: Slot[] = [];
  readonly #loops: Promise<void>[] = [];
  #askedAt = 0;
  #stopped = false;

  constructor(runner: Runner) {
    this.#runner = runner;
  }

  start(random: Random, perDoor: { readonly pingPong: number; readonly idle: number }): void {
    const { servers, frontends } = this.#runner.ground.fixture;
    const kinds = [
      ...Array<"ping-pong">(perDoor.pingPong).fill("ping-pong"),
      ...Array<"idle">(perDoor.idle).fill("idle"),
    ];
    for (const { index: server } of servers) {
      for (const frontend of frontends.kinds) {
        for (const kind of kinds) {
          const number = this.#slots.length;
          const slot = { kind, where: { server, frontend }, random: random.fork(number), answeredAt: 0 };
          this.#slots.push(slot);
          this.#loops.push(this.#keep(slot));
        }
      }
    }
  }

  get size(): number {
    return this.#slots.length;
  }

  count(server: number, frontends: readonly DoorKind[]): number {
    return this.#slots.filter(({ where }) => where.server === server && frontends.includes(where.frontend)).length;
  }

  /** Has everyone say something now. */
  ask(): void {
    this.#askedAt = performance.now();
  }

  /** Who has not answered since it was asked. */
  get silent(): string[] {
    return this.#slots
      .filter(({ answeredAt }) => answeredAt < this.#askedAt)
      .map(({ kind, where }) => `${kind} tunnel through the ${where.frontend} frontend of server ${where.server + 1}`);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await Promise.all(this.#loops);
  }

  async #keep(slot: Slot): Promise<void> {
    for (let life = 0; !this.#stopped; life++) {
      const random = slot.random.fork(life);
      await this.#runner.run(slot.kind, slot.where, random, async (job) => {
        const ends = await job.open();
        while (!this.#stopped) {
          await exchange(ends, 1 * KIB);
          slot.answeredAt = performance.now();
          if (slot.kind === "ping-pong") await sleep(random.between(10, 100));
          else await this.#rest(slot, ends, random.magnitude(5_000, 120_000));
        }
        await part(ends, random);
      });
      if (!this.#stopped) await sleep(300);
    }
  }

  /** Silent for so long, or until somebody asks; but an end in the meantime is noticed. */
  async #rest(slot: Slot, { caller, endpoint }: Ends, ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (!this.#stopped && performance.now() < until && slot.answeredAt >= this.#askedAt) {
      await sleep(LOOK_MS);
      for (const end of [caller, endpoint]) {
        if (end.over) throw new Broken("tunnel", `it ended at the ${end.name} while idle`);
      }
    }
  }
}
