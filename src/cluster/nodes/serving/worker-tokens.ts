/** Tokens that belong to one worker each: a machine with such a token gets its pool's payload, with its name in it. */

import { readFile } from "node:fs/promises";
import { errorOf, messageOf, wrapErrors } from "../../../base/errors/error.js";
import { payloadTemplate, type TokenStore } from "../../ignition/server/tokens.js";
import { isNodeName } from "../csr/names.js";
import { annotation, byName, encoded, parseTime, readPath, type Secret, secretText } from "../objects.js";
import type { ComposedPayload } from "../payload/compose.js";
import type { WorkerObject } from "../workers/resource.js";
import { fieldsOf, readYaml, splitDocuments } from "../yaml.js";
import type { TokenController } from "./token-controller.js";

interface WorkersOptions {
  readonly tokens: TokenStore;
  readonly pools: Pick<TokenController, "currentOf">;
  /** Empty: none. */
  readonly file: string;
  readonly onError: (sentence: string, reason?: unknown) => void;
  readonly now?: () => number;
}

export class WorkerTokens {
  readonly #options: WorkersOptions;
  /** By file or Secret; a list that cannot be read any more stays as it was. */
  readonly #lists = new Map<string, readonly WorkerToken[]>();
  /** The same by worker. */
  #listed: ReadonlyMap<string, readonly WorkerToken[]> = new Map();
  /** By name; empty where there are no such objects. */
  #workers: ReadonlyMap<string, WorkerObject> = new Map();
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
    this.#listsChanged();
  }

  /** All Workers, as they are now: they say when a token has done its work. There may be thousands, and one is another object. */
  workersChanged(items: ReadonlyMap<string, WorkerObject>): void {
    const before = this.#workers;
    this.#workers = byName(items.values());
    const changed = new Set<string>();
    for (const [name, worker] of this.#workers) if (before.get(name) !== worker) changed.add(name);
    for (const name of before.keys()) if (!this.#workers.has(name)) changed.add(name);
    if (changed.size > 0) this.#admit([...changed].flatMap((name) => this.#listed.get(name) ?? []));
  }

  async readFile(): Promise<void> {
    const { file } = this.#options;
    if (file === "") return;
    const read = await workerTokensOfFile(file).catch((reason: unknown) => reason as Error);
    this.#take(file, () => {
      if (read instanceof Error) throw read;
      return read;
    });
    this.#listsChanged();
  }

  #listsChanged(): void {
    const listed = new Map<string, WorkerToken[]>();
    for (const token of [...this.#lists.values()].flat()) {
      const others = listed.get(token.worker);
      if (others === undefined) listed.set(token.worker, [token]);
      else others.push(token);
    }
    this.#listed = listed;
    this.admit();
  }

  /** Admits the listed tokens; called again whenever a pool has another payload. */
  admit(): void {
    const admitted = this.#admit([...this.#lists.values()].flat());
    this.#options.tokens.revokeOthers(({ worker }) => worker !== undefined, admitted);
  }

  /** Admits those of these tokens that are good now, and gives them; the others are refused from now on. */
  #admit(listed: readonly WorkerToken[]): string[] {
    const { tokens, pools, now = Date.now } = this.#options;
    const admitted = new Set<string>();
    const payloads = new Map<string, ReturnType<TokenController["currentOf"]>>();
    for (const { ends, pool, token, worker } of listed) {
      if (!payloads.has(pool)) payloads.set(pool, pools.currentOf(pool));
      const current = payloads.get(pool);
      const left = Math.min(ends, endOf(this.#workers.get(worker), pool)) - now();
      if (current === undefined || left <= 0) continue;
      const { made, secret } = current;
      const template = this.#templateOf(made);
      const payload = () => template(encoded(`${worker}\n`));
      // Its window may have been opened again.
      tokens.revoke(token);
      tokens.admit(token, { payload, secret, pool, worker }, left);
      admitted.add(token);
    }
    for (const { token } of listed) if (!admitted.has(token)) tokens.revoke(token);
    return [...admitted];
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

/** When a Worker's own token ends: as soon as its node was Ready, when it is gone, and when its window closes. */
function endOf(worker: WorkerObject | undefined, pool: string): number {
  const { deadline, reinstalled, removed } = worker?.spec ?? {};
  if (worker === undefined || worker.spec?.pool !== pool) return Number.POSITIVE_INFINITY;
  const { installation, readyAt } = worker.status ?? {};
  const isDone = readyAt !== undefined && parseTime(installation) === parseTime(reinstalled);
  if (isDone || removed !== undefined) return Number.NEGATIVE_INFINITY;
  return parseTime(deadline) ?? Number.POSITIVE_INFINITY;
}

/** Its pool is `namespace/name`. */
interface WorkerToken {
  readonly pool: string;
  readonly worker: string;
  readonly token: string;
  /** Infinity: while it is listed. */
  readonly ends: number;
}

/** A worker's token and when it ends, as a Secret holds them: separated by a blank. Without an end it has none. */
export function ownTokenText(token: string, ends: string): string {
  return `${token} ${ends}`;
}

export function readOwnToken(text: string): Pick<WorkerToken, "token" | "ends"> {
  const [token = "", ends] = text.trim().split(/\s+/);
  return { token, ends: ends === undefined ? Number.POSITIVE_INFINITY : (parseTime(ends) ?? 0) };
}

/** Marks a Secret whose keys are workers and whose values are their tokens and ends; the pool is in the usual annotation. */
export const WORKER_TOKENS_ANNOTATION = "drawbridge/worker-tokens";

/** A token must not be guessed. */
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
    const own = readOwnToken(typeof token === "string" ? token : "");
    if (own.token.length < SHORTEST_TOKEN) {
      throw unusable(`${where} has a token for ${worker} that is shorter than ${SHORTEST_TOKEN} characters`);
    }
    return { pool, worker, ...own };
  });
}

const unusable = errorOf("DB_WORKER_TOKENS");
