/** Forms of secrets that turn up in logs and command lines. */

const removed = "[removed]";

const word = "(?:password|passwd|secret|token|credential|api[-_]?key|access[-_]?key|signature)";

/** Every repetition is bounded or stands alone, so that no line a stranger chose takes more than its length in time. */
const forms: readonly [RegExp, string][] = [
  // The scheme says what it is; the rest is the secret.
  [/(\bauthorization["']?\s*[:=]\s*\[?["']?\w+[ \t]+)[^\s"',;\]]+/gi, `$1${removed}`],
  [/(\b(?:set-)?cookie["']?[ \t]*[:=][ \t]*).+$/gim, `$1${removed}`],
  [new RegExp(`([?&;][\\w-]{0,64}${word}[\\w-]{0,64}=)[^&\\s"'#]+`, "gi"), `$1${removed}`],
  // `--password VALUE`; `--token-file PATH` is something else.
  [new RegExp(`((?<![\\w-])--?[\\w-]{0,64}${word}[ \\t]+)(?!-)[^\\s"']+`, "gi"), `$1${removed}`],
  // A login without a colon is a token as often as a name.
  [/(\bhttps?:\/\/)[^/\s@"']+@/gi, `$1${removed}@`],
  // OpenShift's tokens, and those that machines join by.
  [/\bsha256~[\w-]{20,}/g, removed],
  [/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, removed],
];

export function withoutSecretForms(text: string): string {
  return forms.reduce((rest, [form, instead]) => rest.replace(form, instead), text);
}
