/** Finds out what is different in a copy of the API server's objects since the last look. */
import type { KubeObject } from "../../kube/port.js";

export class Changes<T extends KubeObject> {
  #before = new Map<string, T>();

  /** What is new, what is no longer as it was, and what is gone as it was last. */
  take(items: ReadonlyMap<string, T>): T[] {
    const changed: T[] = [];
    for (const [key, item] of items) {
      const before = this.#before.get(key);
      if (before?.metadata?.resourceVersion === item.metadata?.resourceVersion && before !== undefined) continue;
      // What it was may have concerned others than what it is.
      if (before !== undefined) changed.push(before);
      changed.push(item);
    }
    for (const [key, item] of this.#before) if (!items.has(key)) changed.push(item);
    this.#before = new Map(items);
    return changed;
  }
}
