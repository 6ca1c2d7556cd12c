import { drive } from "../load/drive.js";
import { startBeforeAudience } from "./audience.js";
import { type Contender, type ContenderKind, isAudience, isHop } from "./contender.js";
import type { Ground } from "./ground.js";
import { startHop } from "./hop.js";
import { direct, relay } from "./limits.js";
import { startPair } from "./pair.js";

/**
 * Where contenders run. Within a round each is started once and shared by the rows that leave it as it was; a row that
 * may break one, or that measures a fresh one, starts its own.
 */
export class Fixture {
  readonly ground: Ground;
  readonly #shared = new Map<string, Contender>();

  constructor(ground: Ground) {
    this.ground = ground;
  }

  async shared(kind: ContenderKind): Promise<Contender> {
    const key = `${kind.name} ${kind.frontend}`;
    const running = this.#shared.get(key);
    if (running) return running;
    const contender = await this.fresh(kind);
    this.#shared.set(key, contender);
    await warmUp(contender);
    return contender;
  }

  /** The caller closes it. */
  fresh(kind: ContenderKind): Promise<Contender> {
    if (kind.name === "direct") return Promise.resolve(direct(this.ground));
    if (isHop(kind.name)) return startHop(kind.name, this.ground);
    if (isAudience(kind.name)) return startBeforeAudience(kind.name, this.ground);
    return kind.name === "relay" ? relay(this.ground) : startPair(kind, this.ground);
  }

  /** A contender that misbehaved must not spoil the next row. */
  async drop(kind: ContenderKind): Promise<void> {
    const key = `${kind.name} ${kind.frontend}`;
    const contender = this.#shared.get(key);
    this.#shared.delete(key);
    await contender?.close();
  }

  async clear(): Promise<void> {
    const contenders = [...this.#shared.values()];
    this.#shared.clear();
    await Promise.all(contenders.map((contender) => contender.close()));
  }
}

/**
 * Long-lived processes are what is compared, so each path is used before it is measured: thousands
 * of new tunnels, because that is how many it takes until a just-in-time compiler has seen them all.
 */
async function warmUp({ route, name }: Contender): Promise<void> {
  if (name === "direct") return;
  await drive(route, "new-tunnels", { tunnels: 32, warmupSeconds: 0, seconds: 1.5 });
  await drive(route, "ping-pong", { tunnels: 16, warmupSeconds: 0, seconds: 0.5 });
}
