/** Tokens that belong to one worker each: a machine with such a token gets its pool's payload, with its name in it. */

import { readFile } from "node:fs/promises";
import { errorOf, messageOf, wrapErrors } from "../../../base/errors/error.js";
import { payloadTemplate, type TokenStore } from "../../ignition/server/tokens.js";
import { isNodeName } from "../csr/names.js";
import { annotation, encoded, readPath, type Secret, secretText } from "../objects.js";
import type { ComposedPayload } from "../payload/compose.js";
import { fieldsOf, readYaml, splitDocuments } from "../yaml.js";
import type { TokenController } from "./token-controller.js";

interface WorkersOptions {
  readonly tokens: TokenStore;
  readonly pools: Pick<TokenController, "currentOf">;
  /** Empty: none. */
  readonly file: string;
  readonly onError: (sentence: string, reason?: unknown) => void;
}

export class WorkerTokens {
  readonly #options: WorkersOptions;
  /** By file or Secret; a list that cannot be read any more stays as it was. */
  readonly #lists = new Map<string, readonly WorkerToken[]>();
  readonly #templates = new WeakMap<ComposedPayload, ReturnType<typeof payloadTemplate>>();

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

  /** Admits the listed tokens; called again whenever a pool has another payload. */
  admit(): void {
    const { tokens, pools } = this.#options;
    const admitted: string[] = [];
    for (const { pool, token, worker } of [...this.#lists.values()].flat()) {
      const current = pools.currentOf(pool);
      if (current === undefined) continue;
      const { made, secret } = current;
      const template = this.#templateOf(made);
      const payload = () => template(encoded(`${worker}\n`));
      // Valid for as long as it is listed.
      tokens.admit(token, { payload, secret, pool, worker }, Number.POSITIVE_INFINITY);
      admitted.push(token);
    }
    tokens.revokeOthers(({ worker }) => worker !== undefined, admitted);
  }

  #templateOf(made: ComposedPayload): ReturnType<typeof payloadTemplate> {
    const template = this.#templates.get(made) ?? payloadTemplate(made.named.before, made.named.after);
    this.#templates.set(made, template);
    return template;
  }

  #take(key: string, read: () => readonly WorkerToken[]): void {
    try {
      this.#lists.set(key, read());
    } catch (reason) {
      this.#options.onError(messageOf(reason), reason);
    }
  }
}

/** Its pool is `namespace/name`. */
type WorkerToken = Readonly<Record<"pool" | "worker" | "token", string>>;

/** Marks a Secret whose keys are workers and whose values are their tokens; the pool is in the usual annotation. */
export const WORKER_TOKENS_ANNOTATION = "drawbridge/worker-tokens";

/** A token must not be guessed: it has no end, unlike the pool's. */
const SHORTEST_TOKEN = 16;

export function isWorkerTokensSecret(secret: Secret): boolean {
  return secret.metadata?.annotations?.[WORKER_TOKENS_ANNOTATION] !== undefined;
}

export function workerTokensOfSecret(secret: Secret): WorkerToken[] {
  const where = `the Secret ${secret.metadata?.namespace}/${secret.metadata?.name}`;
  const pool = secret.metadata?.annotations?.[annotation.nodePool];
  const entries = Object.keys(secret.data ?? {}).map((worker) => [worker, secretText(secret, worker)] as const);
  return checked(where, pool, entries);
}

/** Documents of `pool: namespace/name` and `workers: {name: token}`. */
async function workerTokensOfFile(path: string): Promise<WorkerToken[]> {
  const text = await wrapErrors("DB_WORKER_TOKENS", "the worker tokens cannot be read", () => readFile(path, "utf8"));
  return splitDocuments(text).flatMap((part) => {
    const { pool, workers } = wrapErrors("DB_WORKER_TOKENS", `${path} cannot be used`, () => {
      const document = fieldsOf(readYaml(part, 0), "a document");
      return { pool: document.pool, workers: fieldsOf(document.workers, "the map of workers") };
    });
    return checked(path, pool, Object.entries(workers));
  });
}

function checked(where: string, pool: unknown, entries: readonly (readonly [string, unknown])[]): WorkerToken[] {
  if (typeof pool !== "string" || readPath(pool) === undefined) {
    throw unusable(`${where} does not say whose workers these are: the pool must be namespace/name`);
  }
  return entries.map(([worker, token]) => {
    if (!isNodeName(worker))
      throw unusable(`${where} has the worker ${JSON.stringify(worker)}, which is not a node name`);
    if (typeof token !== "string" || token.trim().length < SHORTEST_TOKEN) {
      throw unusable(`${where} has a token for ${worker} that is shorter than ${SHORTEST_TOKEN} characters`);
    }
    return { pool, worker, token: token.trim() };
  });
}

const unusable = errorOf("DB_WORKER_TOKENS");
