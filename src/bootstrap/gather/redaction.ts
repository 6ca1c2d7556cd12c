/** Takes out of a file what must not leave the host. What is collected is an allowlist already; this is the second lock. */
import { redact } from "../../observe/redact.js";
import { withoutSecretForms } from "./secret-forms.js";

export type Redacted =
  | { readonly state: "kept"; readonly content: Buffer; readonly changed: boolean }
  | { readonly state: "left-out"; readonly why: string };

/** The names that the installer's gather leaves out too. */
const secretName = /secret|kubeconfig|\.key$/i;

/** Expressions run out of stack on lines of some ten million characters; no log has any near this. */
const LONGEST_LINE = 1024 * 1024;

export function redactFile(path: string, content: Buffer): Redacted {
  const parts = path.split("/");
  if (secretName.test(parts.at(-1) ?? "") || parts.includes(".kube")) {
    return { state: "left-out", why: "its name is one that secrets have" };
  }
  if (content.includes(0)) return { state: "left-out", why: "it is not text" };
  if (longestLine(content) > LONGEST_LINE) return { state: "left-out", why: "a line in it is too long to be searched" };
  const text = content.toString("utf8");
  const isLog = /\.log$/.test(path);
  if (!isLog && secretObject.test(text)) return { state: "left-out", why: "it holds a Secret" };
  const clean = withoutSecrets(isLog ? text.replace(secretLine, "[a line with a Secret removed]") : text);
  if (remainsSecret(clean)) return { state: "left-out", why: "a private key is in it" };
  return { state: "kept", content: Buffer.from(clean), changed: clean !== text };
}

function longestLine(content: Buffer): number {
  let longest = 0;
  let start = 0;
  for (let end = content.indexOf(10); end !== -1; end = content.indexOf(10, start)) {
    longest = Math.max(longest, end - start);
    start = end + 1;
  }
  return Math.max(longest, content.length - start);
}

const secretObject = /^\s*-?\s*"?kind"?:\s*"?Secret(List)?"?\s*,?\s*$|"kind":\s*"Secret(List)?"/m;
const secretLine = /^.*"kind":\s*"Secret(List)?".*"data".*$|^.*"data".*"kind":\s*"Secret(List)?".*$/gm;

const removed = "[removed]";
/** Members that nobody calls so unless a credential stands behind; the value on the same line. */
const member =
  /((?:^|[\s{,])["']?(?:[\w-]*(?:password|passwd|secret|token|private[-_]?key|key-data|credential|api[-_]?key|access[-_]?key)|auth|authorization|identitytoken)["']?[ \t]*[:=][ \t]*)(?:"[^"\n]*"|'[^'\n]*'|(?!Bearer\b|true\b|false\b|null\b|[[{|>])[^\s"',}]+)/gim;
const variable = /\b([A-Z0-9_]*(?:PASSWORD|PASSWD|TOKEN|SECRET|CREDENTIAL|PRIVATE_KEY|ACCESS_KEY)[A-Z0-9_]*=)[^\s"']+/g;
/** Environments of containers: the name in one member, its value in the next. */
const pair =
  /((?:"name"|"key"|name|key):\s*"?[\w.-]*(?:PASSWORD|PASSWD|TOKEN|SECRET|CREDENTIAL|PRIVATE_KEY)[\w.-]*"?,?\s*"?value"?:\s*)(?:"[^"\n]*"|[^\s",}]+)/gi;
const login = /(\w:\/\/)[^/\s:@"']+:[^/\s@"']+@/g;
const base64Run = /[A-Za-z0-9+/_-]{80,}={0,2}/g;

function withoutSecrets(text: string): string {
  // First, since what the others leave of a header no longer shows what it was.
  return redact(withoutSecretForms(text))
    .replace(member, `$1"${removed}"`)
    .replace(variable, `$1${removed}`)
    .replace(pair, `$1"${removed}"`)
    .replace(login, `$1${removed}@`)
    .replace(base64Run, (run) => (holdsKey(run) ? "[private key removed]" : run));
}

/** Secrets and kubeconfigs carry PEM in base64. */
function holdsKey(run: string): boolean {
  return privateKey.test(Buffer.from(run, "base64").toString("latin1"));
}

const privateKey = /-----BEGIN [A-Z0-9 ]*PRIVATE KEY-----/;

function remainsSecret(text: string): boolean {
  return privateKey.test(text);
}
