/** Lets workers in that have a token of their own, with the payload of their pool and their name in it. */
import { messageOf } from "../../../base/errors/error.js";
import { payloadTemplate } from "../../ignition/server/payload.js";
import type { TokenBook } from "../../ignition/server/token-book.js";
import { encoded, type Secret } from "../objects.js";
import type { Composed } from "../payload/compose.js";
import type { TokenController } from "./token-controller.js";
import { isWorkerTokensSecret, type WorkerToken, workerTokensOfFile, workerTokensOfSecret } from "./worker-tokens.js";

export interface WorkersOptions {
  readonly book: TokenBook;
  readonly pools: Pick<TokenController, "currentOf">;
  /** Empty: none. */
  readonly file: string;
  readonly onError: (sentence: string) => void;
}

export class Workers {
  readonly #options: WorkersOptions;
  /** By where they are from; a list that broke stays as it was. */
  readonly #lists = new Map<string, readonly WorkerToken[]>();
  readonly #templates = new WeakMap<Composed, ReturnType<typeof payloadTemplate>>();

  constructor(options: WorkersOptions) {
    this.#options = options;
  }

  /** All Secrets of the namespace, as they are now. */
  changed(items: ReadonlyMap<string, Secret>): void {
    const lists = [...items].filter(([, secret]) => isWorkerTokensSecret(secret));
    const present = new Set(lists.map(([key]) => key));
    for (const key of this.#lists.keys()) if (key !== this.#options.file && !present.has(key)) this.#lists.delete(key);
    for (const [key, secret] of lists) this.#take(key, () => workerTokensOfSecret(secret));
    this.admit();
  }

  async readFile(): Promise<void> {
    const { file } = this.#options;
    if (file === "") return;
    const read = await workerTokensOfFile(file).catch((reason: unknown) => reason as Error);
    this.#take(file, () => {
      if (read instanceof Error) throw read;
      return read;
    });
    this.admit();
  }

  /** Again whenever a pool has another payload. */
  admit(): void {
    const { book, pools } = this.#options;
    const admitted: string[] = [];
    for (const { pool, token, worker } of [...this.#lists.values()].flat()) {
      const current = pools.currentOf(pool);
      if (current === undefined) continue;
      const { made, secret } = current;
      const template = this.#templateOf(made);
      const payload = () => template(encoded(`${worker}\n`));
      // Valid for as long as it is listed.
      book.admit(token, { payload, secret, pool, worker }, Number.POSITIVE_INFINITY);
      admitted.push(token);
    }
    book.revokeOthers(({ worker }) => worker !== undefined, admitted);
  }

  #templateOf(made: Composed): ReturnType<typeof payloadTemplate> {
    const template = this.#templates.get(made) ?? payloadTemplate(made.named.before, made.named.after);
    this.#templates.set(made, template);
    return template;
  }

  #take(key: string, read: () => readonly WorkerToken[]): void {
    try {
      this.#lists.set(key, read());
    } catch (reason) {
      this.#options.onError(messageOf(reason));
    }
  }
}
