/** When a certificate is due: in the last third of the life it was given, back-dating apart. */
export function dueAt(entry: {
  readonly notBefore: string;
  readonly notAfter: string;
  readonly validForMs?: number;
}): number {
  const [start, end] = [Date.parse(entry.notBefore), Date.parse(entry.notAfter)];
  return end - Math.min(end - start, entry.validForMs ?? Number.POSITIVE_INFINITY) / 3;
}
