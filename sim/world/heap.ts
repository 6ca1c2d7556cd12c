/** Events by time, then by an order drawn from the seed, then as they came. */

export class Event {
  readonly time: number;
  readonly order: number;
  readonly number: number;
  readonly kind: string;
  readonly host: { readonly name: string } | undefined;
  /** It does nothing but cause other events: Node has nothing to run behind it. */
  isBare = false;
  action: (() => void) | undefined;

  constructor(
    time: number,
    order: number,
    number: number,
    kind: string,
    host: { readonly name: string } | undefined,
    action: () => void,
  ) {
    this.time = time;
    this.order = order;
    this.number = number;
    this.kind = kind;
    this.host = host;
    this.action = action;
  }
}

export class EventHeap {
  readonly #items: Event[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(event: Event): void {
    const items = this.#items;
    let at = items.length;
    items.push(event);
    while (at > 0) {
      const parent = (at - 1) >> 1;
      if (!isBefore(event, items[parent]!)) break;
      items[at] = items[parent]!;
      at = parent;
    }
    items[at] = event;
  }

  pop(): Event | undefined {
    const items = this.#items;
    const first = items[0];
    const last = items.pop();
    if (first === undefined || last === undefined || items.length === 0) return first;
    let at = 0;
    for (;;) {
      let child = 2 * at + 1;
      if (child >= items.length) break;
      if (child + 1 < items.length && isBefore(items[child + 1]!, items[child]!)) child++;
      if (!isBefore(items[child]!, last)) break;
      items[at] = items[child]!;
      at = child;
    }
    items[at] = last;
    return first;
  }
}

function isBefore(one: Event, two: Event): boolean {
  if (one.time !== two.time) return one.time < two.time;
  if (one.order !== two.order) return one.order < two.order;
  return one.number < two.number;
}
