/** Things done wrong on purpose: a soak that cannot fail shows nothing. */
import { rmSync } from "node:fs";
import type { Duplex } from "node:stream";
import type { Veterans } from "./faults/plan.js";
import type { Fixture } from "./fixture/fixture.js";
import { Content } from "./load/content.js";
import { sleep } from "./load/end.js";
import type { Hub } from "./load/hub.js";

export const SABOTAGES = ["corrupt", "freeze", "stall", "cut", "kill", "leak", "error-line"] as const;
export type Sabotage = (typeof SABOTAGES)[number];

/** No fault is announced for any of this, so each has to be noticed. */
export class Saboteur {
  readonly #what: Sabotage | undefined;
  #due = false;

  constructor(what: Sabotage | undefined) {
    this.#what = what;
  }

  /** Begins once the run is well under way; goes on until `over`. */
  async begin(fixture: Fixture, hub: Hub, veterans: Veterans, over: () => boolean): Promise<void> {
    this.#due = true;
    const relay = fixture.relays[veterans.server]![veterans.agent]!;
    switch (this.#what) {
      case "stall":
        // Again and again, for a real fault on the same link ends in fair weather.
        for (; !over(); await sleep(50)) relay.stall();
        break;
      case "cut":
        for (; !over(); await sleep(3_000)) {
          relay.cut("reset");
          relay.clear();
        }
        break;
      case "kill":
        fixture.servers[veterans.server]!.daemon.signal("SIGKILL");
        break;
      case "leak":
        // Again when a fault has closed it, or does not let it through.
        for (; !over(); await sleep(200)) {
          const { address } = hub.newAddress();
          await fixture.frontends.dial("connect", veterans.server, address).then(held, () => undefined);
        }
        break;
      case "error-line":
        rmSync(fixture.tokenFile);
        break;
      default:
        break;
    }
  }

  /** Whether the next end is one that does not read and tells nobody. */
  get freezes(): boolean {
    if (this.#what !== "freeze" || !this.#due) return false;
    this.#due = false;
    return true;
  }

  /** One byte of the next content that is asked for, changed at its sender. */
  spoil(content: Content): Content {
    if (this.#what !== "corrupt" || !this.#due) return content;
    this.#due = false;
    return new Corrupted(content);
  }
}

/** Until it is closed by somebody else. */
function held(socket: Duplex): Promise<unknown> {
  return new Promise((resolve) => {
    for (const ending of ["end", "close"]) socket.once(ending, resolve);
    socket.on("error", () => {}).resume();
  });
}

class Corrupted extends Content {
  readonly #right: Content;
  #done = false;

  constructor(right: Content) {
    super("");
    this.#right = right;
  }

  override next(bytes: number): Buffer {
    const chunk = this.#right.next(bytes);
    if (!this.#done) chunk[chunk.length - 1]! ^= 1;
    this.#done = true;
    return chunk;
  }
}
