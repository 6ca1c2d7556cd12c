/** The last items of one kind, for whoever asks later, and how many there ever were. */
export class Recent<Item extends { readonly id: string | number }> {
  count = 0;
  readonly #most: number;
  /** Oldest first. */
  readonly #items = new Map<Item["id"], Item>();

  constructor(most: number) {
    this.#most = most;
  }

  keep(item: Item): void {
    this.count++;
    this.#items.set(item.id, item);
    if (this.#items.size > this.#most) this.#items.delete(this.#items.keys().next().value!);
  }

  /** Those after the first `count` there ever were, newest first, `limit` at most. */
  since(count: number, limit = this.#most): Item[] {
    const items = [...this.#items.values()];
    return items.slice(Math.max(0, items.length - Math.min(limit, this.count - count))).reverse();
  }

  find(id: Item["id"]): Item | undefined {
    return this.#items.get(id);
  }
}
