/** Secrets that can be recognised by their form. Every repetition is bounded or has nothing to go back for. */
import { endOfLine, type Span, withCuts } from "./cuts.js";
import { REMOVED } from "./names.js";

const USERINFO = `[^\\s/@"'<>\\\\]`;

/** A cheap look before each: most texts have none of them. */
const shapes: readonly (readonly [needs: RegExp, form: RegExp, instead: string])[] = [
  [
    /bearer/i,
    /\b(Bearer)(\\?["']?[ \t]*[:=]?[ \t]*|%20|\+)(?!tokens?\b|auth|credentials?\b|\[)[^\s"',;\\\]&]{3,}/gi,
    `$1 ${REMOVED}`,
  ],
  [/basic/i, /\b(Basic)[ \t]+(?!auth|constraint)[A-Za-z0-9+/_-]{6,}={0,2}/gi, `$1 ${REMOVED}`],
  [/negotiate|ntlm/i, /\b(Negotiate|NTLM)[ \t]+[A-Za-z0-9+/]{12,}={0,2}/gi, `$1 ${REMOVED}`],
  // A JSON Web Token or an encrypted one: parts of base64url, the first one beginning with `{"`.
  [/eyJ/, /(?<![A-Za-z0-9_-])eyJ[\w-]{8,}(?:\.[\w-]*){1,4}/g, REMOVED],
  [
    /:\/\//,
    new RegExp(`(\\b[a-z][a-z0-9+.-]{0,20}:\\/\\/)${USERINFO}{1,1024}(?:@${USERINFO}{0,200}){0,3}@`, "gi"),
    `$1${REMOVED}@`,
  ],
  [/@(?:tcp|unix|udp)\(/, /[^\s:@"'(]{1,64}:[^\s"'(]{1,256}(@(?:tcp|unix|udp)\()/g, `${REMOVED}$1`],
  [/sha256~/, /\bsha256~[\w-]{16,}/g, REMOVED],
  // Bootstrap tokens, which machines join by.
  [/\.[a-z0-9]{16}/, /(?<![\w.-])[a-z0-9]{6}\.[a-z0-9]{16}(?![\w-]|\.\w)/g, REMOVED],
  [
    /A[A-Z]{2}A[A-Z0-9]{12}/,
    /(?<![A-Za-z0-9])(?:AKIA|ASIA|AGPA|AIDA|AROA|ANPA|ANVA|AIPA|ABIA|ACCA)[A-Z0-9]{12,124}(?![A-Za-z0-9])/g,
    REMOVED,
  ],
  [
    /[a-z]_|[a-z]-|\./i,
    /(?<![A-Za-z0-9])(?:gh[pousr]_|github_pat_|gl(?:pat|dt|rt|soat|cbt|imt|agent|ptt|oas)-|xox[a-z]-|xapp-|xwfp-|npm_|pypi-|[srp]k_(?:live|test)_|sk-|whsec_|ya29\.|SG\.|hv[sbr]\.|do[opr]_v1_|dckr_pat_|hf_|shp(?:at|ca|pa|ss)_|lin_api_|sntrys_|glsa_|pul-|dapi|rubygems_|atlasv1\.|figd_|NRAK-|EAAC|AGE-SECRET-KEY-)[\w.~-]{10,}/g,
    REMOVED,
  ],
  [/AIza/, /(?<![A-Za-z0-9])AIza[\w-]{30,}/g, REMOVED],
  // What crypt(3) and LDAP make of passwords.
  [
    /\$[\w]{1,12}\$/,
    /\$(?:1|2[abxy]?|5|6|7|y|gy|apr1|argon2(?:id|i|d)|pbkdf2(?:-sha\d{1,3})?|scrypt|sha1|md5)\$[\w./$+,=-]{8,}/g,
    REMOVED,
  ],
  [/\{S?S?(?:SHA|MD5|CRYPT)/i, /(\{(?:S?SHA(?:\d{3})?|S?MD5|CRYPT)\})[\w./$+=-]{8,}/gi, `$1${REMOVED}`],
  [
    /hooks\.|webhook/i,
    /(\bhooks\.slack\.com\/(?:services|workflows)\/|\/api\/webhooks\/|\.webhook\.office\.com\/webhookb2\/)[^\s"'<>]{8,}/gi,
    `$1${REMOVED}`,
  ],
  // `-u user:secret`; `-u 1000:1000` is something else.
  [
    /-u|user|creds/i,
    /((?<![\w-])(?:-u|--user|--proxy-user|--(?:src-|dest-)?creds)(?:[ \t]+|=|["'],[ \t]*["'])["']?)(?!\d+:\d+(?!\S))([^\s:"']{1,256}):[^\s"']+/g,
    `$1$2:${REMOVED}`,
  ],
  [/-U/, /((?<![\w-])-U[ \t]+["']?)([^\s%"']{1,256})%[^\s"']+/g, `$1$2%${REMOVED}`],
  [
    /pass:|-pass/i,
    /((?<![\w-])-{1,2}pass(?:in|out|word)?[ \t]+["']?(?:pass:)?|\bpass:)(?!file:|env:|stdin|fd:|["' \t])[^\s"']+/g,
    `$1${REMOVED}`,
  ],
  [
    /-p|-a|-w|-P/,
    /(\b(?:sshpass|mysql\w*|mariadb\w*|login|redis-cli|ldap\w{3,8}|htpasswd|smbclient|mongo\w*|psql|ipmitool|kinit|vault|lpadmin|chpasswd|expect)\b[^\n|;]{0,400}?[ \t](?:-p|-a|-w|-P)[ \t=]?["']?)(?![-\s]|\d{1,5}(?:[\s:]|$))[^\s"']+/g,
    `$1${REMOVED}`,
  ],
  [/from-literal/, /(--from-literal[= ]["']?[\w.-]{1,253}=)("[^"\n]*"|'[^'\n]*'|[^\s"']+)/g, `$1${REMOVED}`],
  [/password/i, /(\blogin[ \t]+\S{1,256}[ \t]+password[ \t]+)\S+/gi, `$1${REMOVED}`],
  // pgpass: host:port:database:user:password.
  [/:\d{2,5}:/, /^((?:[\w.*-]{1,253}):(?:\d{2,5}|\*):[\w*-]{1,64}:[\w*-]{1,64}:)[^\s:]+$/gm, `$1${REMOVED}`],
  // The page's own cookie.
  [/drawbridge-/, /(\bdrawbridge-[\w-]{1,64}=)[\w-]{16,}/g, `$1${REMOVED}`],
];

export function withoutShapes(text: string): string {
  return shapes.reduce((rest, [needs, form, instead]) => (needs.test(rest) ? rest.replace(form, instead) : rest), text);
}

const KEY_REMOVED = "[private key removed]";
const ARMOUR = /-----(BEGIN|END) ([A-Z0-9 ]{0,60})-----|---- (BEGIN|END) ([A-Z0-9 ]{0,60}) ----/g;
const PUTTY = /PuTTY-User-Key-File-\d{1,2}:/g;

/** A key that is not closed within this many characters was cut off. */
const LONGEST_KEY = 64 * 1024;
/** Characters of a line that are looked at. */
const LONGEST_LINE = 4096;

interface Mark extends Span {
  readonly begins: boolean;
  readonly label: string;
}

/** Takes out private keys in armour: PEM, OpenSSH, PGP and PuTTY, whole or cut off, in logs with prefixes, in one line of JSON. */
export function withoutKeys(text: string): string {
  if (!text.includes("----") && !text.includes("PuTTY")) return text;
  return withCuts(
    text,
    [...keySpans(text), ...puttySpans(text)].map((span) => ({ ...span, instead: KEY_REMOVED })),
  );
}

/** Where certificates, requests and public keys are: random to look at, and meant for everybody. */
export function publicSpans(text: string): Span[] {
  if (!text.includes("-----BEGIN ")) return [];
  const marks = marksIn(text);
  return marks.flatMap((mark, index) => {
    if (!mark.begins || isPrivate(mark.label)) return [];
    const close = marks[index + 1];
    const isClosed = close !== undefined && !close.begins && close.label === mark.label;
    return [{ from: mark.from, to: isClosed ? close.to : bodyEnd(text, mark.to, close?.from ?? text.length) }];
  });
}

function marksIn(text: string): Mark[] {
  return [...text.matchAll(ARMOUR)].map((found) => ({
    begins: (found[1] ?? found[3]) === "BEGIN",
    label: found[2] ?? found[4] ?? "",
    from: found.index,
    to: found.index + found[0].length,
  }));
}

function isPrivate(label: string): boolean {
  return /PRIVATE KEY|^(?:PGP MESSAGE|OPENVPN STATIC KEY.*|AGE ENCRYPTED FILE)$/.test(label);
}

function* keySpans(text: string): Generator<Span> {
  const marks = marksIn(text);
  for (let index = 0; index < marks.length; index++) {
    const mark = marks[index] as Mark;
    if (!isPrivate(mark.label)) continue;
    if (!mark.begins) {
      yield { from: bodyStart(text, mark.from, marks[index - 1]?.to ?? 0), to: mark.to };
      continue;
    }
    const close = marks[index + 1];
    const isClosed = close !== undefined && !close.begins && close.to - mark.from <= LONGEST_KEY;
    if (isClosed) index++;
    yield { from: mark.from, to: isClosed ? close.to : bodyEnd(text, mark.to, close?.from ?? text.length) };
  }
}

/** The end of a line of a key's body, whatever a log has put before it; line breaks may be written as `\n`. */
const BODY_END = /(?:^|[^A-Za-z0-9+/])[A-Za-z0-9+/]{16,}={0,3}["'\\,]{0,4}\s*$/;
const BODY_PART = /(?:^|[^A-Za-z0-9+/])[A-Za-z0-9+/]{16,}(?:[^A-Za-z0-9+/]|$)/;
const HEADER = /(?:Proc-Type|DEK-Info|Comment|Version|Hash|Charset): /;
const FIRST_PART = /^(?:\\{1,8}[nr]|[\s"']){0,20}(?=[a-z+/]{0,64}[A-Z0-9])[A-Za-z0-9+/]{4,}/;
const ONLY_PART = /^[A-Za-z0-9+/]{1,64}={0,2}$/;
const LAST_PART = /[A-Za-z0-9+/]={0,2}\s*$/;

/** The end of a key that was cut off: as far as lines look like a key's, and not into the next key. */
function bodyEnd(text: string, from: number, limit: number): number {
  const lineEnd = endOfLine(text, from, limit);
  if (lineEnd - from > 1) {
    const rest = text.slice(from, lineEnd);
    return BODY_PART.test(rest) || FIRST_PART.test(rest) ? lineEnd : from;
  }
  let to = lineEnd;
  let hasBody = false;
  while (to < limit) {
    const next = endOfLine(text, to + 1, limit);
    const line = text.slice(to + 1, Math.min(next, to + LONGEST_LINE)).trim();
    const isBody: boolean = BODY_END.test(line) || (!hasBody && ONLY_PART.test(line));
    if (!isBody && !HEADER.test(line) && (line !== "" || hasBody)) {
      // The last line of a key is short; so is the one that the cut went through.
      return hasBody && LAST_PART.test(line) && line.length < 120 ? next : to;
    }
    hasBody ||= isBody;
    to = next;
  }
  return to;
}

/** The start of a key whose beginning was cut off. */
function bodyStart(text: string, end: number, limit: number): number {
  const before = text.slice(limit, end);
  let from = limit + before.lastIndexOf("\n") + 1;
  if (BODY_PART.test(text.slice(from, end))) return from;
  let isLast = true;
  while (from > limit) {
    const start = limit + (from - limit < 2 ? 0 : before.lastIndexOf("\n", from - limit - 2) + 1);
    const line = text.slice(Math.max(start, from - LONGEST_LINE), from - 1);
    if (!BODY_END.test(line) && !HEADER.test(line) && !(isLast && LAST_PART.test(line))) break;
    isLast = false;
    from = start;
  }
  return from;
}

function* puttySpans(text: string): Generator<Span> {
  let last = 0;
  for (const { index } of text.matchAll(PUTTY)) {
    if (index < last) continue;
    const mac = text.slice(index, index + LONGEST_KEY).indexOf("Private-MAC");
    last = endOfLine(text, mac === -1 ? Math.min(text.length, index + LONGEST_KEY) : index + mac);
    yield { from: index, to: last };
  }
}
