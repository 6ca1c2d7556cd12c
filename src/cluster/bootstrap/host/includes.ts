/** Whether everything that is wanted stands in an object, whatever else an API server has added to it. */
export function includes(live: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    return Array.isArray(live) && live.length === wanted.length && wanted.every((item, i) => includes(live[i], item));
  }
  if (typeof wanted === "object" && wanted !== null) {
    if (typeof live !== "object" || live === null) return false;
    return Object.entries(wanted).every(([key, value]) => includes((live as Record<string, unknown>)[key], value));
  }
  return live === wanted;
}
