/** JSON as the pages in docs/ keep it. */

/** Four digits are more than any run is worth; what never ended has no number in JSON. */
export const toJson = (value: unknown): string => `${JSON.stringify(value, plainNumber, 2)}\n`;

function plainNumber(_key: string, value: unknown): unknown {
  if (typeof value !== "number") return value;
  return Number.isFinite(value) ? Number(value.toPrecision(4)) : "frozen";
}

/** A fault is of a kind that has the same name. */
export const fromJson = <T>(text: string): T =>
  JSON.parse(text, (key, value) => (value === "frozen" && key !== "kind" ? Number.POSITIVE_INFINITY : value));
