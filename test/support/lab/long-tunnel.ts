import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { payload } from "../callers/bytes.js";
import { dialOnce, echoed, type Frontend } from "./load.js";

/** What became of a long-lived tunnel. */
export interface Life {
  /** Questions answered with the right bytes. */
  readonly answered: number;
  /** Empty when the client itself closed it, with no question open. */
  readonly end: string;
  /** When it ended, by performance.now(). */
  readonly endedAt: number;
}

/** One tunnel that stays: a stream of questions to an echo, each answer compared, until told to close. */
export class LongTunnel {
  answered = 0;
  readonly over: Promise<Life>;
  readonly #socket: Socket;
  readonly #name: string;
  #closing = false;

  private constructor(name: string, socket: Socket) {
    this.#name = name;
    this.#socket = socket;
    this.over = this.#live();
  }

  static async open(name: string, frontend: Frontend, target: string): Promise<LongTunnel> {
    return new LongTunnel(name, await dialOnce(frontend, target));
  }

  /** After the question under way. */
  close(): Promise<Life> {
    this.#closing = true;
    return this.over;
  }

  async #live(): Promise<Life> {
    let end = "";
    try {
      for (let question = 0; !this.#closing; question++) {
        await echoed(this.#socket, payload(`${this.#name}/${question}`, 9_000));
        this.answered++;
        await sleep(20);
      }
    } catch (reason) {
      end = (reason as Error).message;
    }
    const endedAt = performance.now();
    this.#socket.end();
    this.#socket.destroySoon();
    return { answered: this.answered, end, endedAt };
  }
}
