import type { Duplex } from "node:stream";
import type { DoorKind } from "../fixture/frontends.js";
import type { Random } from "../random.js";
import { PROGRESS_WITHIN_MS, type Waiter } from "../watch/watchdog.js";
import { Broken } from "./broken.js";
import { Content } from "./content.js";
import { End } from "./end.js";
import type { JobGround } from "./ground.js";

export interface Ends {
  readonly caller: End;
  readonly endpoint: End;
}

/** One use of one tunnel, from the dial to the last sign of it. */
export class Job implements Waiter {
  readonly kind: string;
  readonly frontend: DoorKind;
  readonly server: number;
  /** Learned from the server while the tunnel is open. */
  agent: number | undefined;
  readonly address: string;
  readonly random: Random;
  readonly startedAt = performance.now();
  /** The endpoint was connected to more than once: the first agent was lost in mid-dial. */
  redialled = false;
  /** No agent can satisfy its dial, so all of them are tried. */
  hopeless = false;
  /** One of its parties gives up by itself when things take long. */
  impatient = false;
  /** Its endpoint lets every agent wait: the second attempt is used up by that, and a fault of one agent ends the dial. */
  usesUpAttempts = false;
  readonly #number: number;
  readonly #ground: JobGround;
  #caller: End | undefined;
  #endpoint: End | undefined;
  #broken = false;
  #onAccepted: () => void = () => {};

  constructor(ground: JobGround, kind: string, where: { server: number; frontend: DoorKind }, random: Random) {
    this.#ground = ground;
    this.kind = kind;
    this.server = where.server;
    this.frontend = where.frontend;
    this.random = random;
    const { number, address } = ground.hub.newAddress();
    this.#number = number;
    this.address = address;
    ground.jobs.set(address, this);
    ground.hub.expect(address, (socket) => this.#accept(socket));
  }

  /** Its ends, as far as it has come. */
  get ends(): Partial<Ends> {
    return {
      ...(this.#caller === undefined ? {} : { caller: this.#caller }),
      ...(this.#endpoint === undefined ? {} : { endpoint: this.#endpoint }),
    };
  }

  get path(): { server: number; agent: number | undefined } {
    return { server: this.server, agent: this.agent };
  }

  /** Dials; both ends are connected when this resolves. */
  async open(): Promise<Ends> {
    const caller = this.#end("caller", await this.dial());
    this.#caller = caller;
    const wait = this.#ground.watchdog.begin(this, "the endpoint's connection");
    try {
      // A first connection that is over already belongs to an agent that was lost in mid-dial; another follows.
      while (this.#endpoint === undefined || this.#endpoint.over) {
        if (caller.over) throw new Broken("tunnel", "it ended at the caller before it began at the endpoint");
        await Promise.race([this.#accepted(), caller.changed()]);
      }
    } finally {
      wait.done();
    }
    return { caller, endpoint: this.#endpoint };
  }

  #accepted(): Promise<void> {
    return new Promise((resolve) => {
      this.#onAccepted = resolve;
    });
  }

  /** Only the dial; a refusal is Broken, with the refusal's words. */
  async dial(address = this.address, withinMs = PROGRESS_WITHIN_MS): Promise<Duplex> {
    const wait = this.#ground.watchdog.begin(this, `the dial of ${address}`, withinMs);
    try {
      return await this.#ground.fixture.frontends.dial(this.frontend, this.server, address);
    } catch (reason) {
      throw new Broken("dial", reason instanceof Error ? reason.message : String(reason));
    } finally {
      wait.done();
    }
  }

  /** The tunnel broke at one end: the other one has to hear of it. */
  async aftermath(): Promise<void> {
    this.#broken = true;
    if (this.redialled) return;
    for (const [end, other] of [
      [this.#caller, this.#endpoint],
      [this.#endpoint, this.#caller],
    ]) {
      if (end?.over !== true) continue;
      end.leave();
      other?.readOn();
      await other?.untilEnded().catch(() => undefined);
    }
  }

  /** Nothing of it is left on our side. */
  close(): void {
    this.#caller?.leave();
    this.#endpoint?.leave();
    this.#ground.hub.forget(this.address);
    this.#ground.jobs.delete(this.address);
  }

  describe(): string {
    const age = ((performance.now() - this.startedAt) / 1000).toFixed(1);
    const way = `${this.frontend} frontend of server ${this.server + 1}, agent ${this.agent === undefined ? "?" : this.agent + 1}`;
    const ends = [this.#caller, this.#endpoint].map((end) => end?.describe()).filter((text) => text !== undefined);
    return `${this.kind} to ${this.address} (${way}, ${age} s old; ${ends.join("; ") || "no end yet"})`;
  }

  #accept(socket: Duplex): void {
    // The tunnel is open already: an agent that was silent when it was asked has woken up, and its answer comes too late.
    if (this.#endpoint !== undefined && this.#endpoint.sent + this.#endpoint.received > 0) {
      this.#end("endpoint", socket).leave();
      return;
    }
    this.redialled ||= this.#endpoint !== undefined;
    this.#endpoint?.leave();
    this.#endpoint = this.#end("endpoint", socket);
    // What broke was the first agent's connection; the tunnel over the second one is open and is left as it is.
    if (this.#broken) this.#caller?.leave();
    this.#onAccepted();
  }

  #end(name: "caller" | "endpoint", socket: Duplex): End {
    const [up, down] = ["up", "down"].map(
      (direction) => new Content(`${this.#ground.seed}/${this.#number}/${direction}`),
    );
    const [sends, expects] = name === "caller" ? [up!, down!] : [down!, up!];
    const other = () => (name === "caller" ? this.#endpoint : this.#caller);
    const end = new End({
      name,
      socket,
      sends: this.#ground.saboteur.spoil(sends),
      expects,
      random: this.random.fork(name),
      watch: (what, withinMs) => this.#ground.watchdog.begin(this, what, withinMs),
      onWrong: (what) => this.#ground.court.violation(`${what}: ${this.describe()}`),
      otherSent: () => other()?.sent ?? 0,
      onReceived: (bytes) => this.#ground.tally.received(name, bytes),
    });
    if (this.kind === "bulk" && this.#ground.saboteur.freezes) end.stopReading();
    return end;
  }
}
