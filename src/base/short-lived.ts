/**
 * Collections for what comes and goes by the thousand: connections, tunnels, dials.
 *
 * A Map or a Set is not good for that. V8 chains every table that one of them has outgrown to the next, so a table that
 * grew old keeps everything alive that was in any later one, until a collection of the whole heap: young collections
 * copy dead tunnels instead of forgetting them: up to three times as much while many tunnels are opened (docs/speed.md).
 * Here only numbers are in such tables.
 */

export class ShortLivedMap<Key, Value> {
  readonly #places = new Map<Key, number>();
  readonly #values: (Value | undefined)[] = [];
  readonly #free: number[] = [];

  get size(): number {
    return this.#places.size;
  }

  has(key: Key): boolean {
    return this.#places.has(key);
  }

  get(key: Key): Value | undefined {
    const place = this.#places.get(key);
    return place === undefined ? undefined : this.#values[place];
  }

  set(key: Key, value: Value): void {
    let place = this.#places.get(key);
    if (place === undefined) {
      place = this.#free.pop() ?? this.#values.length;
      this.#places.set(key, place);
    }
    this.#values[place] = value;
  }

  delete(key: Key): boolean {
    const place = this.#places.get(key);
    if (place === undefined) return false;
    this.#places.delete(key);
    this.#values[place] = undefined;
    this.#free.push(place);
    return true;
  }

  clear(): void {
    for (const key of [...this.#places.keys()]) this.delete(key);
  }

  /** Values in the order in which their keys were added. */
  *values(): IterableIterator<Value> {
    for (const place of this.#places.values()) yield this.#values[place] as Value;
  }
}

export class ShortLivedSet<Item> {
  readonly #items = new ShortLivedMap<number, Item>();
  #count = 0;

  get size(): number {
    return this.#items.size;
  }

  /** The returned function removes the item. */
  add(item: Item): () => void {
    const number = this.#count++;
    this.#items.set(number, item);
    return () => this.#items.delete(number);
  }

  [Symbol.iterator](): IterableIterator<Item> {
    return this.#items.values();
  }
}
