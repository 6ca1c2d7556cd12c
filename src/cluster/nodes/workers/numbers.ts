/**
 * Numbers in workers' names, each used once: a machine that was let in keeps certificates of its name for a long time, and
 * the approver lets no second one in under it.
 */

/** The next free number, by prefix. */
export type Numbers = Readonly<Record<string, number>>;

interface Numbered {
  readonly prefix: string;
  readonly number: number;
}

/** Undefined for names that we did not make. */
export function numbered(name: string): Numbered | undefined {
  const [, prefix, digits] = /^(.+)-(0|[1-9]\d{0,8})$/.exec(name) ?? [];
  return prefix === undefined ? undefined : { prefix, number: Number(digits) };
}

export function usedNumbers(before: Numbers, names: readonly string[]): Numbers {
  const next = { ...before };
  for (const name of names) {
    const found = numbered(name);
    if (found !== undefined) next[found.prefix] = Math.max(next[found.prefix] ?? 0, found.number + 1);
  }
  return next;
}
