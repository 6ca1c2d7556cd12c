/** What of a payload must not be shown: it is recognised by what it is, and in doubt by its name. */
import { redact } from "../../../base/redact/redact.js";

/** Decoded text can hold encoded text again: a config in a Secret in a file. */
const DEEPEST = 3;

// Every repetition is bounded: the texts are others' and can have megabytes.
const SECRETS = {
  "private key": /-----BEGIN(?: |%20)(?:[A-Z0-9]{1,20}(?: |%20)){0,3}PRIVATE(?: |%20)KEY-----/,
  "pull secret": /(?:\\?"|%22)auths(?:\\?"|%22)\s{0,20}(?::|%3A)/i,
  kubeconfig: /current-context"?\s{0,20}:|client-key-data|client-certificate-data/,
  Secret: /(?:^|\n)[ \t]{0,100}kind:[ \t]{1,20}"?Secret"?[ \t]{0,20}(?:\r?\n|$)|"kind"\s{0,20}:\s{0,20}"Secret"/,
};
/** Shorter ones hold no key. */
const SHORTEST_RUN = 80;
const TELLING_NAME = /kubeconfig|secret|passw(?:or)?d|token|credential|htpasswd|shadow|\.key$|\.dockerconfigjson$/i;

/** The kind of secret that a file's content is, undefined for what may be shown. */
export function secretIn(path: string, content: Buffer): string | undefined {
  const known = secretText(content.toString("latin1"), DEEPEST);
  if (known !== undefined) return known;
  const name = path.slice(path.lastIndexOf("/") + 1);
  return TELLING_NAME.test(name) ? "secret by its name" : undefined;
}

function secretText(text: string, depth: number): string | undefined {
  const known = Object.entries(SECRETS).find(([, pattern]) => pattern.test(text));
  if (known !== undefined || depth === 0) return known?.[0];
  for (const run of encodedRuns(text)) {
    const found = secretText(Buffer.from(run, "base64").toString("latin1"), depth - 1);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** Stretches that look like base64. Cut by hand: on one of megabytes a pattern runs out of stack. */
function* encodedRuns(text: string): Generator<string> {
  const other = /[^A-Za-z0-9+/]/g;
  let start = 0;
  for (;;) {
    const end = other.exec(text)?.index ?? text.length;
    if (end - start >= SHORTEST_RUN) yield text.slice(start, end);
    if (end === text.length) return;
    start = other.lastIndex;
  }
}

const LOGIN = /(\w:\/\/)[^/\s:@"']+(?::[^/\s@"']*)?@/g;
/** Characters that are looked at and that are shown: secrets at the cut must still be whole when they are looked for. */
const LONGEST_LOOK = 20_000;
const LONGEST_SHOWN = 500;

/** For text that is shown: single values go, the rest stays readable. */
export function withoutSecrets(text: string): string {
  const clean = redact(text.slice(0, LONGEST_LOOK));
  return clean.length > LONGEST_SHOWN ? `${clean.slice(0, LONGEST_SHOWN)}...` : clean;
}

/** Headers whose values say nothing about who may fetch. */
const OPEN_HEADERS = new Set(["accept", "user-agent", "nodepool", "targetconfigversionhash"]);

export const shownHeader = (name: string, value: string | undefined): string =>
  value === undefined ? "(removed)" : OPEN_HEADERS.has(name.toLowerCase()) ? value : "(hidden)";

/** Where something comes from, without a login and without what a query may carry. */
export function shownSource(source: string): string {
  if (source.startsWith("data:")) return "in the config";
  const [place = "", ...rest] = source.slice(0, LONGEST_SHOWN).split(/[?#]/);
  return `${place.replace(LOGIN, "$1[hidden]@")}${rest.length === 0 ? "" : "?..."}`;
}
