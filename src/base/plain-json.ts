import { messageOf } from "./errors/error.js";
import { redact, redactField } from "./redact/redact.js";

/** JSON of anything we log or show: bigints as strings, fractions rounded, errors as their sentence, secrets taken out, never a throw. */
export function plainJson(value: unknown): string {
  try {
    return JSON.stringify(value, plainValue) ?? "null";
  } catch (reason) {
    return JSON.stringify(`not shown: ${messageOf(reason)}`);
  }
}

function plainValue(name: string, value: unknown): unknown {
  if (typeof value === "bigint") return value.toString();
  if (typeof value === "number") return rounded(value);
  if (value instanceof Error) return redact(value.message);
  if (value instanceof Map) return Object.fromEntries(value);
  if (value instanceof Set) return [...value];
  if (typeof value !== "string") return value;
  return redactField(name, value);
}

/** Three digits say all that a measured time or rate can say; fourteen hide the rest of a line. Whole numbers stay. */
export function rounded(value: number): number {
  if (Number.isInteger(value)) return value;
  return Math.abs(value) >= 100 ? Math.round(value) : Number(value.toPrecision(3));
}
