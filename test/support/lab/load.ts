import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { payload, readExactly } from "../callers/bytes.js";
import { type ConnectFrontend, connectRequest, openFrontend, readAnswer } from "../callers/connect.js";

/** No wait of a client is longer: what has no answer by then hangs. */
export const HANGS_AFTER_MS = 10_000;
/** A dial that failed before a byte of the request was sent must have succeeded, perhaps elsewhere, by then. */
export const SERVED_WITHIN_MS = 10_000;

const PAUSE_AFTER_REFUSAL_MS = 50;
const SIZES = [1, 700, 16_000, 70_000] as const;

/** A server's frontend, or a proxy on this machine that is asked in the clear, as sidecars are. */
export type Frontend = ConnectFrontend | { readonly transport: "plain"; readonly port: number };

export interface LoadReport {
  /** Requests answered with the right bytes. */
  readonly answered: number;
  /** Dials that failed before a byte of a request was sent, with their reasons; each request was then dialled again. */
  readonly refusals: readonly string[];
  /** The longest that a request had to wait for a dial that succeeded. */
  readonly longestDialMs: number;
  /** Requests whose dials did not succeed in time. */
  readonly unserved: readonly string[];
  /** Requests that failed after their first byte was sent: no client can know whether to repeat them. */
  readonly lost: readonly string[];
  /** Waits without an answer. */
  readonly hung: readonly string[];
}

/** Clients that go on and on: dial, ask, compare the answer byte for byte, close. */
export class Load {
  readonly #frontend: () => Frontend;
  readonly #target: string;
  readonly #running: Promise<void>[];
  readonly #refusals: string[] = [];
  readonly #unserved: string[] = [];
  readonly #lost: string[] = [];
  readonly #hung: string[] = [];
  #answered = 0;
  #longestDialMs = 0;
  #stopped = false;

  private constructor(frontend: () => Frontend, target: string, clients: number) {
    this.#frontend = frontend;
    this.#target = target;
    this.#running = Array.from({ length: clients }, (_, client) => this.#run(client));
  }

  /** `frontend` is asked before each dial: certificates may have been replaced. */
  static start(frontend: () => Frontend, target: string, clients = 6): Load {
    return new Load(frontend, target, clients);
  }

  get answered(): number {
    return this.#answered;
  }

  /** What must not be, so far: requests that were lost, hung or not served in time. */
  get failures(): readonly string[] {
    return [...this.#lost, ...this.#hung, ...this.#unserved];
  }

  async stop(): Promise<LoadReport> {
    this.#stopped = true;
    await Promise.all(this.#running);
    return {
      answered: this.#answered,
      refusals: this.#refusals,
      longestDialMs: Math.round(this.#longestDialMs),
      unserved: this.#unserved,
      lost: this.#lost,
      hung: this.#hung,
    };
  }

  async #run(client: number): Promise<void> {
    for (let request = 0; !this.#stopped; request++) {
      const socket = await this.#dial();
      if (socket !== undefined) await this.#ask(socket, `${client}/${request}`, SIZES[request % SIZES.length]!);
      // A machine of two cores has other things to do as well.
      await sleep(10);
    }
  }

  async #dial(): Promise<Socket | undefined> {
    const began = performance.now();
    for (;;) {
      const attempt = performance.now();
      try {
        const socket = await dialOnce(this.#frontend(), this.#target);
        this.#longestDialMs = Math.max(this.#longestDialMs, performance.now() - began);
        return socket;
      } catch (reason) {
        const text = (reason as Error).message;
        this.#refusals.push(text);
        if (performance.now() - attempt >= HANGS_AFTER_MS) this.#hung.push(text);
      }
      if (performance.now() - began >= SERVED_WITHIN_MS) {
        this.#unserved.push(this.#refusals.at(-1)!);
        return undefined;
      }
      await sleep(PAUSE_AFTER_REFUSAL_MS);
    }
  }

  async #ask(socket: Socket, seed: string, size: number): Promise<void> {
    const began = performance.now();
    const question = payload(seed, size);
    try {
      await echoed(socket, question);
      this.#answered++;
    } catch (reason) {
      const isHung = performance.now() - began >= HANGS_AFTER_MS;
      (isHung ? this.#hung : this.#lost).push(`request ${seed} of ${size} bytes: ${(reason as Error).message}`);
    } finally {
      socket.end();
      socket.destroySoon();
    }
  }
}

/** Asks an echo and compares the answer; rejects when the tunnel ends, gives other bytes or none in time. */
export async function echoed(socket: Socket, question: Buffer): Promise<void> {
  // An end that came while nobody was reading is not told again.
  if (socket.destroyed || socket.readableEnded) throw new Error("the stream ended before the question");
  socket.write(question);
  const answer = await readExactly(socket, question.length, HANGS_AFTER_MS);
  if (!answer.equals(question)) throw new Error("the answer has other bytes than the question");
}

/** An open tunnel, or a sentence that says why there is none. */
export async function dialOnce(frontend: Frontend, target: string): Promise<Socket> {
  const socket =
    frontend.transport === "plain" ? await openPlain(frontend.port) : await openFrontend(frontend, HANGS_AFTER_MS);
  try {
    socket.write(connectRequest(target));
    const { status, head } = await readAnswer(socket, HANGS_AFTER_MS);
    if (status !== 200) throw new Error(`the server answered ${head.split("\r\n")[0]}`);
    return socket;
  } catch (reason) {
    socket.destroy();
    throw reason;
  }
}

async function openPlain(port: number): Promise<Socket> {
  const socket = connect({ host: "127.0.0.1", port, allowHalfOpen: true });
  await once(socket, "connect", { signal: AbortSignal.timeout(HANGS_AFTER_MS) });
  socket.on("error", () => {});
  return socket;
}
