/** Tokens that stand for one worker each: whoever comes with one has a name, wherever it comes from. */
import { readFile } from "node:fs/promises";
import { parseDocument } from "yaml";
import { DrawbridgeError, messageOf } from "../../../base/errors/error.js";
import { isNodeName } from "../csr/node-name.js";
import { splitDocuments } from "../hash/kubernetes-yaml.js";
import { annotation } from "../names.js";
import { type Secret, secretText } from "../objects.js";
import { readPath } from "../token/token-secret.js";

export interface WorkerToken {
  /** `namespace/name`. */
  readonly pool: string;
  readonly worker: string;
  readonly token: string;
}

/** On a Secret whose keys are workers and whose values are their tokens; the pool stands in the usual annotation. */
export const WORKER_TOKENS_ANNOTATION = "drawbridge/worker-tokens";

/** Guessing must be hopeless, and a token is not limited in time as the pool's are. */
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
export async function workerTokensOfFile(path: string): Promise<WorkerToken[]> {
  let text: string;
  try {
    text = await readFile(path, "utf8");
  } catch (reason) {
    throw unusable(`the worker tokens cannot be read: ${messageOf(reason)}`);
  }
  return splitDocuments(text).flatMap((part) => {
    const document = parseDocument(part);
    // The parser's own words may repeat a line, and with it a token.
    if (document.errors.length > 0) throw unusable(`${path} is not YAML`);
    const { pool, workers } = (document.toJS({ maxAliasCount: 0 }) ?? {}) as { pool?: unknown; workers?: unknown };
    if (typeof workers !== "object" || workers === null) throw unusable(`${path} has a document without workers`);
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

function unusable(sentence: string): DrawbridgeError {
  return new DrawbridgeError("DB_WORKER_TOKENS", sentence);
}
