/** The API on a directory of objects, kept in memory: the same behaviour without a disk. */
import type { KubeApi, KubeObject } from "../../kube/port.js";
import {
  completedObject,
  createObjectApi,
  keyOf,
  type ObjectStore,
  type StoredObject,
} from "../controller/directory.js";

export function createMemoryApi(): KubeApi {
  return createObjectApi(new ObjectsInMemory(), 5);
}

class ObjectsInMemory implements ObjectStore {
  readonly #filed = new Map<string, StoredObject>();
  #last: Promise<unknown> = Promise.resolve();

  async all(): Promise<ReadonlyMap<string, StoredObject>> {
    return new Map(this.#filed);
  }

  async put(object: KubeObject): Promise<void> {
    const { resourceVersion: _derived, ...metadata } = object.metadata ?? {};
    const key = keyOf(object);
    // As it would come back from a file.
    const copy = JSON.parse(JSON.stringify({ ...object, metadata })) as KubeObject;
    this.#filed.set(key, { object: completedObject(key, copy), file: key, index: 0 });
  }

  async remove({ object }: StoredObject): Promise<void> {
    this.#filed.delete(keyOf(object));
  }

  alone<T>(run: () => Promise<T>): Promise<T> {
    const done = this.#last.then(run);
    this.#last = done.catch(() => undefined);
    return done;
  }
}
