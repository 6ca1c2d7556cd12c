/** PEM texts with something wrong, or odd, or merely unusual about them. Every character is one byte. */
import type { Dice } from "./dice.js";

type Spoil = (text: string, dice: Dice, others: readonly string[]) => string;

const headers = [
  "X: -----",
  "X: -----\n",
  "X: -----\n\n",
  "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n",
  "a:b",
  ":",
  "-----BEGIN CERTIFICATE REQUEST-----: x",
  "-----END CERTIFICATE REQUEST-----: x",
  "-----END CERTIFICATE REQUEST-----\nX: y",
  "X: y\n-----END CERTIFICATE REQUEST-----",
];
const fragments = [
  ...[
    "\0",
    "\t",
    "\r",
    "\n",
    " ",
    "\n\n",
    "\r\n",
    " \n",
    "\t\n",
    "\f",
    "\v",
    "\xef\xbb\xbf",
    "\xc3\xbc",
    "\x85",
    "\xa0",
  ],
  ...["=", "==", "=\n=", "-", "-----", "-----\n", ":", "A", "AAAA", "!", "_", "\\n", "#", "<", "\x7f"],
  ...["-----BEGIN CERTIFICATE REQUEST-----\n", "\n-----BEGIN CERTIFICATE REQUEST-----\n", "-----BEGIN "],
  ...[
    "-----END CERTIFICATE REQUEST-----\n",
    "\n-----END CERTIFICATE REQUEST-----\n",
    "\n-----END ",
    "-----BEGIN CERTIFICATE-----\n",
  ],
];
const labels = [
  "CERTIFICATE REQUEST",
  "NEW CERTIFICATE REQUEST",
  "CERTIFICATE",
  "X",
  "",
  " ",
  "certificate request",
  "CERTIFICATE REQUEST ",
];

const body = /(-----BEGIN [^\n]*-----\n)([^-]*)(\n-----END)/;
const wrapped = (text: string, width: number, ending = "\n"): string =>
  text.replace(body, (_, begin, lines: string, end) => {
    const one = lines.replace(/\s/g, "");
    return begin + (one.match(new RegExp(`.{1,${width}}`, "g")) ?? []).join(ending) + end;
  });

const spoils: readonly Spoil[] = [
  (text, dice) => text.replace(/(-----BEGIN [^\n]*\n)/, `$1${dice.of(headers)}\n`),
  (text) => text.replace(/==\n/, "=\n=\n"),
  (text) => text.replace(/=\n/, "\n=\n"),
  (text, dice, others) => dice.of(others) + text,
  (text, dice, others) => text + dice.of(others),
  (text, dice, others) => `${dice.of(others).trimEnd()}${text}`,
  (text, dice, others) => `${text.trimEnd()}${dice.of(["", " ", "\t", "x"])}${dice.of(others)}`,
  (text, dice, others) => text.replace(/\n/, `\n${dice.of(others)}`),
  (text, dice) => at(text, dice, (here) => `${here}${dice.of(fragments)}`),
  (text, dice) => at(text, dice, (here) => `${here}${dice.of(fragments)}`),
  (text, dice) => at(text, dice, (here) => here, 1 + dice.below(3)),
  (text, dice) => dice.of(fragments) + text,
  (text, dice) => text + dice.of(fragments),
  (text, dice) => atLine(text, dice, (line) => `${dice.of(fragments)}${line}`),
  (text, dice) => atLine(text, dice, (line) => `${line}${dice.of(fragments)}`),
  (text, dice) => atLine(text, dice, () => ""),
  (text) => text.replaceAll("\n", "\r\n"),
  (text) => text.replaceAll("\n", "\r"),
  (text) => text.replaceAll("\n", " \n"),
  (text) => text.trimEnd(),
  (text, dice) => text.replace(/-----END [^\n]*-----/, `-----END ${dice.of(labels)}-----`),
  (text, dice) => text.replace(/-----BEGIN [^\n]*-----/, `-----BEGIN ${dice.of(labels)}-----`),
  (text, dice) => {
    const label = dice.of(labels);
    return text.replace(/-----(BEGIN|END) [^\n]*-----/g, `-----$1 ${label}-----`);
  },
  (text) => text.replace(/-----END [^\n]*-----\n?/, ""),
  (text) => text.replace(/-----BEGIN [^\n]*-----\n?/, ""),
  (text) => text.replace(/(-----BEGIN [^\n]*-----\n)/, "$1$1"),
  (text, dice) => wrapped(text, dice.of([1, 63, 65, 76, 128, 10_000])),
  (text, dice) => wrapped(text, 64, dice.of(["\r\n", "\n\n", " \n", "\n ", "\t"])),
  (text) => text.replace(/=+\n/, "\n"),
  (text) => text.replace(/(=*)\n-----END/, "$1=\n-----END"),
  // Bits behind the last byte.
  (text) => text.replace(/[A-Za-z0-9+/](=+\n)/, "/$1"),
  (text) => text.replace(body, "$1$3"),
  (text, dice) => text.slice(0, dice.below(text.length)),
  (text, dice) => text.slice(dice.below(text.length)),
  (text) => text.replaceAll("-----", "----"),
  (text) => text.replaceAll("-----\n", "----- \t\n"),
  (text) => `subject=CN = x\n    some words: and more\n${text}`,
];

function at(text: string, dice: Dice, change: (here: string) => string, removed = 0): string {
  const place = dice.below(text.length + 1);
  return change(text.slice(0, place)) + text.slice(place + removed);
}

function atLine(text: string, dice: Dice, change: (line: string) => string): string {
  const lines = text.split("\n");
  const index = dice.below(lines.length);
  return lines.map((line, own) => (own === index ? change(line) : line)).join("\n");
}

/** Spoiled in one to three ways; now and then in none. */
export function spoiledText(text: string, dice: Dice, others: readonly string[]): string {
  let spoiled = text;
  for (let count = dice.below(4); count > 0; count--) spoiled = dice.of(spoils)(spoiled, dice, others);
  return spoiled;
}
