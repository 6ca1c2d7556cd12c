/** Whether a name says that its value is a secret: `DB_PASSWORD`, `client-key-data`, `bearerToken`. */
import { remedies } from "../errors/catalogue.js";
import { isFilePath } from "./paths.js";

/** Last words of names whose value is only about a secret. */
const ABOUT = new Set(
  (
    "file files path paths dir directory name names ref refs namespace ids url uri endpoint ttl seconds duration expiry " +
    "expires expiration age type kind count total size length policy rules class mount volume volumes version status " +
    "state review reviews audience audiences issuer lookup enabled required mode format provider controller request " +
    "requests rotation at time timeout valid error errors reason source projection digest served method algorithm alg " +
    "bytes milliseconds ms missing used cache hits limit queue selector id expired invalid unknown unreadable refused " +
    "generated failed mismatch generation prefix"
  ).split(" "),
);

const SECRET_WORD =
  /^(?:[a-z0-9]*(?:password|passwd|passphrase|passcode|pwd|secrets?|tokens?|credentials?|cookies?|apikeys?|accesskeys?|secretkeys?|privatekeys?|accountkey|sharedkey|storepass|keypass|sshpass|requirepass|sessid|sessionid)|pass|passw|[a-z]{1,4}pass|pw|authorization|bearer|jwt|psk|otp|totp|mnemonic|signature|sig|htpasswd|sas)$/;
/** Words that only end as a secret word does. */
const ORDINARY_WORD = /^(?:bypass|compass|surpass|trespass|byp)$/;

/** `access key`, `private key` and so on: `key` alone is no secret. */
const KEY_OF = new Set(
  (
    "api access private account shared secret encryption signing master storage preshared certificate license recovery " +
    "unseal customer consumer auth deploy service functions subscription primary secondary app decryption wireguard " +
    "confirmation join gossip hmac symmetric pre"
  ).split(" "),
);

/** Names of environment variables that end with KEY are those of secrets. */
const VARIABLE_KEY = /^[A-Z0-9_]+_KEYS?$/;

const PASSWORD = /pass(?:word|wd|phrase|code)?$|pwd$|^pw$/;

/** Lower-case words of a name, whether they are joined by case, dashes, dots or underscores. */
function wordsOf(name: string): string[] {
  return name
    .replace(/([a-z0-9])([A-Z])/g, "$1 $2")
    .replace(/([A-Z])([A-Z][a-z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/)
    .filter((word) => word !== "");
}

/** Names are short and made of words; what is longer, or random, is base64 and the sign after it its padding. */
const LONGEST_NAME = 200;

export function isSecretName(name: string): boolean {
  // A code of an error is no name, although some speak of tokens.
  if (name.length > LONGEST_NAME || Object.hasOwn(remedies, name) || looksRandom(name)) return false;
  const words = wordsOf(name);
  const last = words.at(-1) ?? "";
  if (isKeyId(words)) return true;
  if (words.includes("public") || ABOUT.has(last)) return false;
  if (last === "hash" && !isPasswordName(name)) return false;
  if (last === "auth") return words.length === 1;
  if (VARIABLE_KEY.test(name)) return true;
  return words.some((word, index) => isSecretWord(word) || isSecretKey(words, index));
}

function isSecretWord(word: string): boolean {
  return SECRET_WORD.test(word) && !ORDINARY_WORD.test(word);
}

/** `accessKey`, `client-key-data`. */
function isSecretKey(words: readonly string[], index: number): boolean {
  if (words[index] !== "key" && words[index] !== "keys") return false;
  return KEY_OF.has(words[index - 1] ?? "") || words[index + 1] === "data";
}

/** A cloud's key id is half of a credential. */
function isKeyId(words: readonly string[]): boolean {
  return words.at(-1) === "id" && words.at(-2) === "key" && words.at(-3) === "access";
}

/** A password can be anything, a word or a number too; tokens and keys are recognisable as no word of a language. */
export function isPasswordName(name: string): boolean {
  return wordsOf(name).some((word) => PASSWORD.test(word) && !ORDINARY_WORD.test(word));
}

/** Headers whose whole value is a secret, with spaces, commas and all. */
export function isCredentialHeader(name: string): boolean {
  const words = wordsOf(name);
  return words.includes("authorization") || words.includes("cookie");
}

const NOTHING =
  /^(?:true|false|null|nil|none|undefined|yes|no|on|off|~|\*+|x+|<[\w -]*>|\[[\w ]*removed\]|Bearer|Basic)?$/i;
const DIGEST = /^sha(?:1|224|256|384|512)[:-][0-9a-fA-F]{32,}$/;
const PATH = /^(?:file:\/\/)?(?:\/[\w.@~-]+){2,}\/?$/;
const SMALL_NUMBER = /^-?\d{1,5}(?:\.\d{1,3})?(?:ms|s|m|h)?$/;

/** Whether a value behind a secret's name is no secret. */
export function isPlainValue(value: string, ofPassword: boolean): boolean {
  const text = value.trim();
  if (NOTHING.test(text)) return true;
  if (ofPassword) return false;
  return DIGEST.test(text) || SMALL_NUMBER.test(text) || isPlainPath(text);
}

function isPlainPath(text: string): boolean {
  if (!PATH.test(text)) return false;
  return isFilePath(text) ? !text.split("/").some(looksRandom) : !looksRandom(text);
}

/** The replacement of a secret. */
export const REMOVED = "[removed]";

/** Nothing shorter counts as drawn at random. */
export const SHORTEST_RANDOM = 20;

/** Long random texts that are no secrets, within longer texts too. */
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
  const isUnsteady = changes / (letters - 1) >= 0.34 || rarePairs(text) >= letters * 0.12;
  return isUnsteady && distinct(text) >= Math.min(text.length * 0.4, 14);
}

/** `TestProxyHandle_DoneContext` is made of words. */
function lettersInWords(text: string): number {
  return (text.match(/[A-Z]?[a-z]{3,}/g) ?? []).filter((word) => rarePairs(word) <= word.length / 8).join("").length;
}

/** Letters that hardly ever follow one another in a word; of letters drawn at random every third pair is one. */
const RARE_PAIR =
  /(?!(.)\1|c[dk]|d[gv]|oj|p[fgv]|w[bd]|x[ft]|yz)(?=[cdfgjkmpqvwxz][fgjqvwxz]|b[fgqvwxz]|[cfghjkqvwz][bcdgjkqvwxz]|x[bdgjkqvwxz]|[jqvxz][bdfghjkmnqrtvwxz]|q[^u]|[lrsty][jqxz]|[aiouy][jq]|mr|xl|[hf]n)/gi;

const rarePairs = (text: string): number => text.match(RARE_PAIR)?.length ?? 0;

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

const distinct = (text: string): number => new Set(text).size;
