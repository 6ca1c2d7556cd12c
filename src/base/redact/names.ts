/** Whether a name says that its value is a secret: `DB_PASSWORD`, `client-key-data`, `bearerToken`. */
import { catalogue } from "../errors/catalogue.js";

/** What the value of a name that ends so is about; the secret itself is elsewhere. */
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

/** In an environment a key is one to be kept. */
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

/** Names are short; what is longer is not a name. */
const LONGEST_NAME = 200;

export function isSecretName(name: string): boolean {
  // A code of an error is no name, although some speak of tokens.
  if (name.length > LONGEST_NAME || Object.hasOwn(catalogue, name)) return false;
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
