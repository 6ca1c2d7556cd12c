/** Tells what a machine drew at random from names, paths, numbers and words. */

export const SHORTEST_RANDOM = 20;

/** What is long and random and no secret, within longer texts too. */
const KNOWN_FORMS =
  /[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}|(?<![A-Za-z0-9])(?:0x)?[0-9a-fA-F]{7,}(?![A-Za-z0-9])/gi;

/** Whether a run of letters, digits and the signs of base64 looks drawn at random. */
export function looksRandom(run: string): boolean {
  const text = run.replace(KNOWN_FORMS, "");
  if (text.length < SHORTEST_RANDOM) return false;
  return isMixed(text) || text.split(/[^A-Za-z0-9]+/).some(isLettersAndDigits);
}

/** Upper case, lower case and digits change places far more often than in names made of words. */
function isMixed(text: string): boolean {
  const { upper, lower, digits, changes, letters } = counts(text);
  if (upper < 3 || lower < 3) return false;
  if (digits === 0 && letters < 28) return false;
  if (lettersInWords(text) > letters * 0.55) return false;
  return changes / (letters - 1) >= 0.34 && distinct(text) >= Math.min(text.length * 0.4, 14);
}

/** `TestProxyHandle_DoneContext` is made of words. */
function lettersInWords(text: string): number {
  return (text.match(/[A-Z]?[a-z]{3,}/g) ?? []).join("").length;
}

/** One case only: then digits must stand among the letters several times. */
function isLettersAndDigits(text: string): boolean {
  if (text.length < SHORTEST_RANDOM) return false;
  const { digits, changes } = counts(text);
  return digits >= 4 && changes >= 6 && changes / text.length >= 0.2 && distinct(text) >= 10;
}

function counts(text: string) {
  const found = { upper: 0, lower: 0, digits: 0, letters: 0, changes: 0 };
  let before = -1;
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index);
    const kind = code >= 97 && code <= 122 ? 0 : code >= 65 && code <= 90 ? 1 : code >= 48 && code <= 57 ? 2 : 3;
    if (kind === 0) found.lower++;
    else if (kind === 1) found.upper++;
    else if (kind === 2) found.digits++;
    if (kind === 3) continue;
    found.letters++;
    if (before !== -1 && kind !== before) found.changes++;
    before = kind;
  }
  return found;
}

function distinct(text: string): number {
  return new Set(text).size;
}
