/** A list in which what was added can be found by itself: the first, the next and the removal cost the same for any length. */

export interface ListItem<Item extends ListItem<Item>> {
  /** Kept by the list it is in. */
  list: LinkedList<Item> | undefined;
  before: Item | undefined;
  after: Item | undefined;
}

/** Items are in at most one list. */
export class LinkedList<Item extends ListItem<Item>> {
  size = 0;
  first: Item | undefined;
  #last: Item | undefined;

  /** Behind all others; whatever list it was in before lets it go. */
  append(item: Item): void {
    item.list?.remove(item);
    item.list = this;
    item.before = this.#last;
    if (this.#last === undefined) this.first = item;
    else this.#last.after = item;
    this.#last = item;
    this.size++;
  }

  remove(item: Item): void {
    if (item.list !== this) return;
    if (item.before === undefined) this.first = item.after;
    else item.before.after = item.after;
    if (item.after === undefined) this.#last = item.before;
    else item.after.before = item.before;
    item.list = item.before = item.after = undefined;
    this.size--;
  }
}
