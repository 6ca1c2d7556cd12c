/** Two texts line by line: what both have in common, what only one has. */
export interface Line {
  readonly op: "same" | "removed" | "added";
  readonly text: string;
}

/** Pairs of lines that are compared, after what is the same at both ends is set aside: 2000 lines with 2000. */
const MOST_PAIRS = 4_000_000;
const CONTEXT = 2;

/** Undefined when the texts differ in more lines than anyone would read. */
export function lineDiff(before: string, after: string): Line[] | undefined {
  const [a, b] = [before.split("\n"), after.split("\n")];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a.at(-1 - end) === b.at(-1 - end)) end += 1;
  const middle = changed(a.slice(start, a.length - end), b.slice(start, b.length - end));
  if (middle === undefined) return undefined;
  const same = (text: string): Line => ({ op: "same", text });
  return [...a.slice(0, start).map(same), ...middle, ...a.slice(a.length - end).map(same)];
}

/** Only the changes and a little around them; undefined marks what is left out. */
export function aroundChanges(lines: readonly Line[]): (Line | undefined)[] {
  const near = new Set<number>();
  for (const [index, { op }] of lines.entries()) {
    if (op === "same") continue;
    for (let at = index - CONTEXT; at <= index + CONTEXT; at += 1) near.add(at);
  }
  const shown: (Line | undefined)[] = [];
  for (const [index, line] of lines.entries()) {
    if (near.has(index)) shown.push(line);
    else if (shown.length > 0 && shown.at(-1) !== undefined) shown.push(undefined);
  }
  return shown.at(-1) === undefined ? shown.slice(0, -1) : shown;
}

/** By the longest common subsequence: `common` has its length for every pair of remainders. */
function changed(a: readonly string[], b: readonly string[]): Line[] | undefined {
  const width = b.length + 1;
  if (a.length * b.length > MOST_PAIRS) return undefined;
  const common = new Uint16Array((a.length + 1) * width);
  const at = (x: number, y: number): number => common[x * width + y]!;
  for (let x = a.length - 1; x >= 0; x -= 1) {
    for (let y = b.length - 1; y >= 0; y -= 1)
      common[x * width + y] = a[x] === b[y] ? at(x + 1, y + 1) + 1 : Math.max(at(x + 1, y), at(x, y + 1));
  }
  const lines: Line[] = [];
  let [x, y] = [0, 0];
  while (x < a.length || y < b.length) {
    if (x < a.length && y < b.length && a[x] === b[y]) {
      lines.push({ op: "same", text: a[x]! });
      x += 1;
      y += 1;
    } else if (x < a.length && (y === b.length || at(x + 1, y) >= at(x, y + 1))) {
      lines.push({ op: "removed", text: a[x]! });
      x += 1;
    } else {
      lines.push({ op: "added", text: b[y]! });
      y += 1;
    }
  }
  return lines;
}
