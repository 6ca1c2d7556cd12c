/** Writing to objects that others write to as well. The API refuses a write over a version that nobody here has seen. */
import { isConflict, isNotFound } from "./errors.js";
import type { KubeApi, KubeObject } from "./port.js";

/** Does it anew, reading included, as long as somebody else was faster; the last of the attempts may fail for that. */
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
  /** As the API has it now. */
  readonly object: T;
  /** False: it was as wanted already. */
  readonly isWritten: boolean;
}

/** Writes what `make` gives for the object as it is, if anything; undefined when there is no such object, or no more. */
export async function change<T extends KubeObject>(
  api: Pick<KubeApi, "get" | "update">,
  path: string,
  attempts: number,
  make: (object: T) => T | undefined,
): Promise<Changed<T> | undefined> {
  try {
    return await againOnConflict(attempts, async () => {
      const object = await api.get<T>(path);
      const wanted = make(object);
      if (wanted === undefined) return { object, isWritten: false };
      return { object: await api.update(path, wanted), isWritten: true };
    });
  } catch (reason) {
    if (isNotFound(reason)) return undefined;
    throw reason;
  }
}
