/** Something kept of which a description is made when somebody asks: thousands may come in a second, and few are asked for. */
export interface Kept<Item extends { readonly id: string | number }> {
  readonly id: Item["id"];
  describe(): Item;
}

/** The last items of one kind, for whoever asks later, and how many there ever were. */
export class Recent<Item extends { readonly id: string | number }> {
  count = 0;
  readonly #most: number;
  /** A ring: the newest is the one before the place of `count`. */
  readonly #ring: Kept<Item>[] = [];

  constructor(most: number) {
    this.#most = most;
  }

  keep(item: Kept<Item>): void {
    this.#ring[this.count++ % this.#most] = item;
  }

  /** Those after the first `count` there ever were, newest first, `limit` at most. */
  since(count: number, limit = this.#most): Item[] {
    const found: Item[] = [];
    const first = Math.max(count, this.count - Math.min(limit, this.#most));
    for (let at = this.count - 1; at >= first; at--) found.push(this.#ring[at % this.#most]!.describe());
    return found;
  }

  find(id: Item["id"]): Item | undefined {
    return this.#ring.find((item) => item.id === id)?.describe();
  }
}
