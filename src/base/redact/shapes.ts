/** Secrets that show what they are wherever they stand. Every repetition is bounded or has nothing to go back for. */
import { REMOVED } from "./removed.js";

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
