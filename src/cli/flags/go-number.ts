/** Numbers and booleans as Go's strconv reads them, with its error texts. */
import { quote } from "./go-text.js";

type Fault = "invalid syntax" | "value out of range";

/** Thrown by the parsers; the message is what Go prints. */
export class GoNumberError extends Error {
  readonly fault: Fault;
  constructor(parser: string, text: string, fault: Fault) {
    super(`strconv.${parser}: parsing ${quote(text)}: ${fault}`);
    this.fault = fault;
  }
}

const booleans: Readonly<Record<string, boolean>> = {
  "1": true,
  t: true,
  T: true,
  TRUE: true,
  true: true,
  True: true,
  "0": false,
  f: false,
  F: false,
  FALSE: false,
  false: false,
  False: false,
};

export function parseBool(text: string): boolean {
  const value = Object.hasOwn(booleans, text) ? booleans[text] : undefined;
  if (value === undefined) throw new GoNumberError("ParseBool", text, "invalid syntax");
  return value;
}

// Underscores may separate digits and may follow the base prefix (a leading 0 is one), as in Go's own literals.
const LITERAL = /^([+-]?)(0[xX](?:_?[0-9a-fA-F])+|0[bB](?:_?[01])+|0[oO](?:_?[0-7])+|0(?:_?[0-7])*|[1-9](?:_?[0-9])*)$/;
const DECIMAL = /^([+-]?)([0-9]+)$/;

/** `base` 0 takes Go's prefixes (0x, 0b, 0o, 0) and underscores; 10 takes digits only. */
export function parseInteger(text: string, base: 0 | 10, bits: 32 | 64): number {
  const value = signedDigits("ParseInt", text, base);
  const limit = 1n << BigInt(bits - 1);
  if (value < -limit || value >= limit) throw new GoNumberError("ParseInt", text, "value out of range");
  return Number(value);
}

export function parseUnsigned64(text: string): number {
  if (/^[+-]/.test(text)) throw new GoNumberError("ParseUint", text, "invalid syntax");
  const value = signedDigits("ParseUint", text, 0);
  if (value >= 1n << 64n) throw new GoNumberError("ParseUint", text, "value out of range");
  return Number(value);
}

function signedDigits(parser: string, text: string, base: 0 | 10): bigint {
  const match = (base === 0 ? LITERAL : DECIMAL).exec(text);
  if (!match) throw new GoNumberError(parser, text, "invalid syntax");
  const digits = (match[2] ?? "").replaceAll("_", "");
  const magnitude = BigInt(
    base === 0 && /^0[0-7]/.test(digits) ? `0o${digits}` : base === 0 ? digits : stripZeros(digits),
  );
  return match[1] === "-" ? -magnitude : magnitude;
}

/** Keeps BigInt from reading a padded decimal as anything else, and bounds its work on long paddings. */
function stripZeros(digits: string): string {
  return digits.replace(/^0+(?=\d)/, "");
}

const FLOAT = /^[+-]?(?:[0-9](?:_?[0-9])*(?:\.(?:[0-9](?:_?[0-9])*)?)?|\.[0-9](?:_?[0-9])*)(?:[eE][+-]?[0-9]+)?$/;

/** Decimal notation, `inf` and `nan`. Go's hexadecimal floats are refused: nobody writes a rate that way. */
export function parseFloat32(text: string): number {
  const word = /^([+-]?)(inf|infinity)$/i.exec(text);
  if (word) return word[1] === "-" ? -Infinity : Infinity;
  if (/^nan$/i.test(text)) return Number.NaN;
  if (!FLOAT.test(text)) throw new GoNumberError("ParseFloat", text, "invalid syntax");
  const value = Math.fround(Number(text.replaceAll("_", "")));
  if (!Number.isFinite(value)) throw new GoNumberError("ParseFloat", text, "value out of range");
  return value;
}
