/** Reading and changing single objects. The API refuses a write over a version that the writer has not seen. */
import { isConflict, isNotFound } from "./errors.js";
import { collectionPath, type Kind, objectPath, typed } from "./paths.js";
import type { DeleteOptions, KubeApi, KubeObject, RequestOptions } from "./port.js";

/** Repeats the attempt, which reads and writes, while it loses to somebody else's write; the last conflict is thrown. */
export async function againOnConflict<T>(attempts: number, attempt: () => Promise<T>): Promise<T> {
  for (let left = attempts - 1; ; left--) {
    try {
      return await attempt();
    } catch (reason) {
      if (!isConflict(reason) || left <= 0) throw reason;
    }
  }
}

export interface Changed<T> {
  /** The object as the API has it now. */
  readonly object: T;
  /** False when the object was as wanted already. */
  readonly isWritten: boolean;
}

/** Writes what `make` returns for the current object, if anything; undefined when the object does not exist. */
export async function change<T extends KubeObject>(
  api: Pick<KubeApi, "get" | "update">,
  path: string,
  attempts: number,
  make: (object: T) => T | undefined,
  options?: RequestOptions,
): Promise<Changed<T> | undefined> {
  try {
    return await againOnConflict(attempts, async () => {
      const object = await api.get<T>(path, options);
      const wanted = make(object);
      if (wanted === undefined) return { object, isWritten: false };
      return { object: await api.update(path, wanted, options), isWritten: true };
    });
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
}

/** Updates an object that was read from the API, on the condition that nobody wrote since, and creates any other. */
export function createOrUpdate<T extends KubeObject>(
  api: Pick<KubeApi, "create" | "update">,
  kind: Kind,
  object: T,
  options?: RequestOptions,
): Promise<T> {
  const whole = typed(kind, object);
  const { namespace, resourceVersion } = object.metadata ?? {};
  if (resourceVersion === undefined) return api.create(collectionPath(kind, namespace), whole, options);
  return api.update(objectPath(whole), whole, options);
}

/** The object, or undefined when the API says that there is none. Any other failure is thrown. */
export async function find<T extends KubeObject>(
  api: Pick<KubeApi, "get">,
  path: string,
  options?: RequestOptions,
): Promise<T | undefined> {
  try {
    return await api.get<T>(path, options);
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
}

/** Deletes the object; it is no failure that there is none. */
export async function deleteIfPresent(api: Pick<KubeApi, "delete">, path: string, options: DeleteOptions = {}) {
  try {
    await api.delete(path, options);
  } catch (reason) {
    if (!isNotFound(reason)) throw reason;
  }
}
