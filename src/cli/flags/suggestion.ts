/** What somebody meant who wrote a name that does not exist. */

/** `; did you mean --kubeconfig?` for `--kubeconfg`; empty when no name is near. */
export function suggestion(word: string, names: Iterable<string>): string {
  let best: { readonly name: string; readonly distance: number } | undefined;
  for (const name of names) {
    // Who wrote the beginning of a name meant that name.
    const distance = name.startsWith(word) && word.replace(/^-+/, "").length >= 3 ? 0.5 : editDistance(word, name);
    if (distance <= mistakesIn(word) && distance < (best?.distance ?? Infinity)) best = { name, distance };
  }
  return best === undefined ? "" : `; did you mean ${best.name}?`;
}

/** In a short word everything is near to everything. */
function mistakesIn(word: string): number {
  const { length } = word.replace(/^-+/, "");
  if (length < 3) return 0;
  return length < 6 ? 1 : 2;
}

/** Letters that are missing, wrong, too many, or in the place of their neighbour. */
function editDistance(one: string, other: string): number {
  let [before, last]: [number[], number[]] = [[], Array.from({ length: other.length + 1 }, (_, column) => column)];
  for (let row = 1; row <= one.length; row++) {
    const next = [row];
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1];
      let cost = Math.min(last[column]! + 1, next[column - 1]! + 1, last[column - 1]! + (isSame ? 0 : 1));
      const isTurned = one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1];
      if (row > 1 && column > 1 && isTurned) cost = Math.min(cost, before[column - 2]! + 1);
      next.push(cost);
    }
    [before, last] = [last, next];
  }
  return last[other.length]!;
}
