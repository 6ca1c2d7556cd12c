/** Times in annotations. */

const RFC3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$/;

/** Milliseconds since 1970; undefined for anything that is not RFC 3339, which Date.parse would guess at. */
export function parseTime(text: string | undefined): number | undefined {
  if (text === undefined || !RFC3339.test(text)) return undefined;
  const time = Date.parse(text);
  return Number.isNaN(time) ? undefined : time;
}

/** To the second. */
export function secondTime(now: number): string {
  return new Date(now).toISOString().replace(/\.\d+Z$/, "Z");
}

/** As Go prints nanoseconds: without zeros at the end, and without the point when there are only zeros. */
export function nanoTime(now: number): string {
  return new Date(now)
    .toISOString()
    .replace(/(\.\d*?)0*Z$/, (_, fraction: string) => `${fraction === "." ? "" : fraction}Z`);
}
