/** Booleans, numbers, durations and lists as Go's strconv, time and pflag read them, and text as they quote it. */

/** A text inside an error, as Go's `%q` shows it. */
export const quote = (text: string): string => JSON.stringify(text);

function notParsed(parser: string, text: string, fault = "invalid syntax"): Error {
  return new Error(`strconv.${parser}: parsing ${quote(text)}: ${fault}`);
}

/** Throws an Error with Go's text, as all readers below do. */
export function parseBool(text: string): boolean {
  if (/^(1|t|T|TRUE|true|True)$/.test(text)) return true;
  if (/^(0|f|F|FALSE|false|False)$/.test(text)) return false;
  throw notParsed("ParseBool", text);
}

// Underscores may separate digits and may follow the base prefix (a leading 0 is one), as in Go's own literals.
const INTEGER = /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;

/** Takes Go's prefixes (0x, 0b, 0o, 0) and underscores. */
export function parseInteger(text: string): number {
  const [, sign, digits] = INTEGER.exec(text) ?? [];
  if (digits === undefined) throw notParsed("ParseInt", text);
  const value = Number(digits.replaceAll("_", "").replace(/^0(?=[0-7])/, "0o"));
  if (!Number.isSafeInteger(value)) throw notParsed("ParseInt", text, "value out of range");
  return sign === "-" ? 0 - value : value;
}

/** Decimal notation only; Go also reads hexadecimal floats, `inf` and `nan`, which make no sense for a rate. */
export function parseDecimal(text: string): number {
  if (!/^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$/.test(text)) throw notParsed("ParseFloat", text);
  return Number(text);
}

/** Comma-separated values, each of which may be in quotes, as pflag splits a string slice. */
export function parseList(text: string): string[] {
  if (text === "") return [];
  const fields = [...`,${text}`.matchAll(/,(?:"((?:[^"]|"")*)"|([^",]*))(?=,|$)/gy)];
  if (fields.map(([field]) => field).join("") !== `,${text}`) {
    throw new Error('parse error: bare, extraneous or missing " in a field');
  }
  return fields.map(([, quoted, plain = ""]) => quoted?.replaceAll('""', '"') ?? plain);
}

const NANOSECONDS: Readonly<Record<string, number>> = {
  ns: 1,
  us: 1e3,
  "\u00b5s": 1e3, // micro sign
  "\u03bcs": 1e3, // Greek letter mu
  ms: 1e6,
  s: 1e9,
  m: 60e9,
  h: 3600e9,
};

/** A duration such as 1m30s or 1.5h in whole milliseconds; what is not 0 never becomes 0, which often means "off". */
export function parseDuration(text: string): number {
  const amount = text.replace(/^[-+]/, "");
  if (amount === "0") return 0;
  const parts = amount.match(/(?:[0-9]+\.?[0-9]*|\.[0-9]+)[^.0-9]*/g) ?? [];
  let nanoseconds = 0;
  for (const part of parts) {
    const [, whole, fraction, unit = ""] = /^([0-9]*)(\.?[0-9]*)(.*)$/s.exec(part)!;
    if (unit === "") throw new Error(`time: missing unit in duration ${quote(text)}`);
    if (!Object.hasOwn(NANOSECONDS, unit)) {
      throw new Error(`time: unknown unit ${quote(unit)} in duration ${quote(text)}`);
    }
    // 0.000001 * 1e6 may be a little less than it should be.
    nanoseconds += Number(whole) * NANOSECONDS[unit]! + Math.trunc(Number(`0${fraction}`) * NANOSECONDS[unit]! + 1e-3);
  }
  // Go holds 63 bits of nanoseconds.
  if (parts.length === 0 || parts.join("") !== amount || nanoseconds >= 2 ** 63) {
    throw new Error(`time: invalid duration ${quote(text)}`);
  }
  const ms = Math.ceil(nanoseconds / 1e6);
  return text.startsWith("-") ? 0 - ms : ms;
}

/** Milliseconds as Go's Duration.String writes them: `1h0m0s`, `1m30s`, `1.5s`, `100ms`, `0s`. */
export function formatDuration(ms: number): string {
  if (ms < 0) return `-${formatDuration(-ms)}`;
  if (ms > 0 && ms < 1000) return `${ms}ms`;
  const [minutes, seconds] = [Math.floor(ms / 60_000), `${(ms % 60_000) / 1000}s`];
  if (minutes < 60) return minutes === 0 ? seconds : `${minutes}m${seconds}`;
  return `${Math.floor(minutes / 60)}h${minutes % 60}m${seconds}`;
}
