const units = [
  ["d", 24 * 60 * 60_000],
  ["h", 60 * 60_000],
  ["min", 60_000],
  ["s", 1_000],
] as const;

/** The two largest parts: `364 d 23 h`, `1 h 5 min`, `12 s`. */
export function roughly(ms: number): string {
  let left = Math.max(0, ms);
  const first = units.findIndex(([, size]) => left >= size);
  if (first < 0) return "0 s";
  const parts: string[] = [];
  for (const [name, size] of units.slice(first, first + 2)) {
    const count = Math.floor(left / size);
    left -= count * size;
    if (count > 0) parts.push(`${count} ${name}`);
  }
  return parts.join(" ");
}
