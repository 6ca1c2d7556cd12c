/**
 * Go's time.Duration: a signed 64-bit count of nanoseconds, read and written exactly as Go does.
 *
 *   "1h0m0s"  "100ms"  "1.5h"  "-2m"  "+5s"  "0"  ".5s"  "1h15m30.918s"  "3us" = "3µs"
 */

/** Nanoseconds. */
export type GoDuration = bigint;

const nanosecondsIn: Readonly<Record<string, bigint>> = {
  ns: 1n,
  us: 1_000n,
  "\u00b5s": 1_000n, // micro sign
  "\u03bcs": 1_000n, // Greek letter mu
  ms: 1_000_000n,
  s: 1_000_000_000n,
  m: 60_000_000_000n,
  h: 3_600_000_000_000n,
};

const TOO_BIG = 1n << 63n;

/** Throws an Error with Go's own text. */
export function parseGoDuration(text: string): GoDuration {
  const negative = text.startsWith("-");
  let rest = /^[-+]/.test(text) ? text.slice(1) : text;
  if (rest === "0") return 0n;
  if (rest === "") throw invalid(text);
  let total = 0n;
  while (rest !== "") {
    const [matched, whole = "", point, fraction = ""] = /^([0-9]*)(?:(\.)([0-9]*))?/.exec(rest) ?? [""];
    if (matched === "" || (point !== undefined && whole === "" && fraction === "")) throw invalid(text);
    const count = boundedInteger(whole);
    if (count === undefined) throw invalid(text);
    rest = rest.slice(matched.length);
    const unit = /^[^.0-9]*/.exec(rest)?.[0] ?? "";
    if (unit === "") throw new Error(`time: missing unit in duration ${quoteBytes(text)}`);
    const nanoseconds = Object.hasOwn(nanosecondsIn, unit) ? nanosecondsIn[unit] : undefined;
    if (nanoseconds === undefined)
      throw new Error(`time: unknown unit ${quoteBytes(unit)} in duration ${quoteBytes(text)}`);
    rest = rest.slice(unit.length);
    if (count > TOO_BIG / nanoseconds) throw invalid(text);
    total += count * nanoseconds + fractionOf(fraction, nanoseconds);
    if (total > TOO_BIG) throw invalid(text);
  }
  if (negative) return -total;
  if (total === TOO_BIG) throw invalid(text);
  return total;
}

function invalid(text: string): Error {
  return new Error(`time: invalid duration ${quoteBytes(text)}`);
}

/** Undefined when the number cannot fit, however long it is. */
function boundedInteger(digits: string): bigint | undefined {
  const significant = digits.replace(/^0+/, "");
  if (significant.length > 19) return undefined;
  const value = BigInt(significant || "0");
  return value > TOO_BIG ? undefined : value;
}

/** Go keeps as many decimals as fit 63 bits and ignores the rest, then multiplies in floating point. */
function fractionOf(digits: string, nanoseconds: bigint): bigint {
  let value = 0n;
  let scale = 1;
  for (const digit of digits.slice(0, 20)) {
    if (value > (TOO_BIG - 1n) / 10n) break;
    const next = value * 10n + BigInt(digit);
    if (next > TOO_BIG) break;
    value = next;
    scale *= 10;
  }
  if (value === 0n) return 0n;
  return BigInt(Math.trunc(Number(value) * (Number(nanoseconds) / scale)));
}

/** The quoting of Go's time package: every byte beyond printable ASCII as \xNN. */
function quoteBytes(text: string): string {
  let quoted = '"';
  for (const byte of Buffer.from(text)) {
    const character = String.fromCharCode(byte);
    if (byte < 0x20 || byte >= 0x80) quoted += `\\x${byte.toString(16).padStart(2, "0")}`;
    else quoted += character === '"' || character === "\\" ? `\\${character}` : character;
  }
  return `${quoted}"`;
}

/** As Go's Duration.String: `1h0m0s`, `1m30s`, `1.5s`, `100ms`, `2µs`, `0s`. */
export function formatGoDuration(duration: GoDuration): string {
  if (duration === 0n) return "0s";
  const sign = duration < 0n ? "-" : "";
  const left = duration < 0n ? -duration : duration;
  if (left < 1_000n) return `${sign}${left}ns`;
  if (left < 1_000_000n) return `${sign}${decimalOf(left, 3)}\u00b5s`;
  if (left < 1_000_000_000n) return `${sign}${decimalOf(left, 6)}ms`;
  const minutes = left / 60_000_000_000n;
  const seconds = `${decimalOf(left % 60_000_000_000n, 9)}s`;
  if (minutes === 0n) return sign + seconds;
  const hours = minutes / 60n;
  return hours === 0n ? `${sign}${minutes}m${seconds}` : `${sign}${hours}h${minutes % 60n}m${seconds}`;
}

function decimalOf(value: bigint, decimals: number): string {
  const digits = value.toString().padStart(decimals + 1, "0");
  const fraction = digits.slice(-decimals).replace(/0+$/, "");
  return digits.slice(0, -decimals) + (fraction && `.${fraction}`);
}
