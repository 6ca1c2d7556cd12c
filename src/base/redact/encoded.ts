/** Text within text: base64, packed or not, percent-encoding and hexadecimal. What is inside is judged as any other text. */
import { gunzipSync, gzipSync } from "node:zlib";
import { type Cut, type Span, withCuts } from "./cuts.js";
import { looksRandom, REMOVED, SHORTEST_RANDOM } from "./names.js";
import { pathSpans } from "./paths.js";
import { publicSpans } from "./shapes.js";
import { isPublicDer } from "./stand-ins.js";

/** Judges a text that was found in another one; undefined when it lies too deep or is too much. */
export type JudgeInner = (text: string) => string | undefined;

/** `cGFzc3dvcmQ9eA` is `password=x`; nothing shorter says what it is. */
const SHORTEST_ENCODED = 14;
const MOST_UNPACKED = 16 * 1024 * 1024;

const RUN = /[A-Za-z0-9+/_-]{14,}={0,3}/g;
const STARTS_OPEN =
  /^sha(?:1|256|384|512)[-/_]|^AAAA(?:B3NzaC1|C3NzaC1lZDI1NTE5|E2VjZHNhLXNoYTItbmlzdH|G[nN]zaC1lZDI1NTE5|Inz?aC1)/;
/** Text before a digest, a certificate or something else that is public. */
const OPEN_CONTEXT =
  /(?:sha-?(?:1|224|256|384|512)|md5|spki|pin(?:-sha256)?|fingerprint\w*|digest|checksum|etag|thumbprint|certificate(?:-authority)?(?:-data)?|\bca(?:bundle|-data|data)?|public[-_ ]?key|pubkey|known_hosts|akid|skid|keyid)\\{0,4}["']?[ \t]{0,4}[:=/ -]?[ \t]{0,4}\\{0,4}["'[]?$/i;

export function withoutEncodedSecrets(text: string, inner: JudgeInner): string {
  return withoutRuns(withoutHex(withoutPercent(text, inner), inner), inner);
}

/** Runs of base64 of any alphabet, and whatever else looks drawn at random. */
function withoutRuns(whole: string, inner: JudgeInner): string {
  const { text, judged } = joinedLines(whole, inner);
  const open = spanFinder([...publicSpans(text), ...judged]);
  const paths = spanFinder(pathSpans(text));
  return text.replace(RUN, (run: string, at: number) => {
    if (open(at) !== undefined) return run;
    const judge = (part: string) => judgedRun(part, () => text.slice(Math.max(0, at - 40), at), inner);
    const path = paths(at);
    // Only together do the names of folders look random.
    return path !== undefined && at + run.length <= path.to ? run.split("/").map(judge).join("/") : judge(run);
  });
}

/** The span that a place is in. Places are asked for in the order of the text. */
function spanFinder(spans: readonly Span[]): (at: number) => Span | undefined {
  const sorted = [...spans].sort((one, other) => one.from - other.from);
  let next = 0;
  return (at) => {
    while (next < sorted.length && sorted[next]!.to <= at) next++;
    const span = sorted[next];
    return span !== undefined && span.from <= at ? span : undefined;
  };
}

function judgedRun(run: string, before: () => string, inner: JudgeInner): string {
  const decoded = run.length < SHORTEST_ENCODED ? undefined : decodedText(run);
  if (decoded !== undefined) {
    const clean = inner(decoded.text);
    return clean === undefined ? REMOVED : clean === decoded.text ? run : decoded.encode(clean);
  }
  if (run.length < SHORTEST_RANDOM || !looksRandom(run)) return run;
  if (STARTS_OPEN.test(run) || OPEN_CONTEXT.test(before()) || isPublicDer(run)) return run;
  return REMOVED;
}

interface Decoded {
  readonly text: string;
  encode(text: string): string;
}

/** Undefined when it is no text, or too little to be sure. */
function decodedText(run: string): Decoded | undefined {
  const isUrl = /[-_]/.test(run);
  if (isUrl && /[+/]/.test(run)) return undefined;
  const bytes = Buffer.from(run, "base64");
  const spelling = isUrl ? "base64url" : "base64";
  const isPacked = bytes[0] === 0x1f && bytes[1] === 0x8b;
  const plain = isPacked ? unpacked(bytes) : bytes;
  const form = plain && asText(plain, isPacked ? 1 : (SHORTEST_ENCODED * 3) / 4 - 1);
  if (form === undefined) return undefined;
  const pack = (form: TextForm) => (isPacked ? gzipSync(fromText(form)) : fromText(form));
  return { text: form.text, encode: (text) => pack({ ...form, text }).toString(spelling) };
}

export function unpacked(bytes: Buffer): Buffer | undefined {
  try {
    return gunzipSync(bytes, { maxOutputLength: MOST_UNPACKED });
  } catch {
    return undefined;
  }
}

const BLOCK_LINE = /^[ \t]*[A-Za-z0-9+/]{40,}={0,2}\r?$/;
const BLOCK_END = /^[ \t]*[A-Za-z0-9+/]{1,}={0,2}\r?$/;

/** base64(1) breaks its lines: a secret that a line break goes through is seen only when they are joined. `judged`: what stays. */
function joinedLines(text: string, inner: JudgeInner): { text: string; judged: readonly Span[] } {
  if (!text.includes("\n") || !/(?:^|\n)[ \t]*[A-Za-z0-9+/]{40,1000}\r?\n[ \t]*[A-Za-z0-9+/]/.test(text))
    return { text, judged: [] };
  const lines = text.split("\n");
  const open = publicSpans(text);
  const out: string[] = [];
  const judged: Span[] = [];
  let written = 0;
  let at = 0;
  let next = 0;
  for (let index = 0; index < lines.length; ) {
    const first = lines[index] as string;
    let last = index + 1;
    while (next < open.length && (open[next] as Span).to <= at) next++;
    const isOpen = (open[next]?.from ?? text.length) <= at;
    if (!isOpen && first.length < 1000 && BLOCK_LINE.test(first)) {
      while (lines[last]?.length === first.length && BLOCK_LINE.test(lines[last]!)) last++;
      if (last < lines.length && lines[last]!.length < first.length && BLOCK_END.test(lines[last]!)) last++;
    }
    const block = lines.slice(index, last);
    const joined = last - index > 1 ? block.map((line) => line.trim()).join("") : "";
    const decoded = joined === "" ? undefined : decodedText(joined);
    const clean = decoded && inner(decoded.text);
    const isKept = decoded === undefined || clean === decoded.text;
    const instead = isKept
      ? block
      : [`${/^[ \t]*/.exec(first)?.[0]}${clean === undefined ? REMOVED : decoded.encode(clean)}`];
    const size = instead.reduce((sum, line) => sum + line.length + 1, 0);
    // As a whole it holds no secret; a part of it would only look like one.
    if (decoded !== undefined && isKept) judged.push({ from: written, to: written + size });
    out.push(...instead);
    written += size;
    for (const line of block) at += line.length + 1;
    index = last;
  }
  return { text: out.join("\n"), judged };
}

const PERCENT = /%[0-9A-Fa-f]{2}/g;
const ENDS_URL = /[\s"'<>\\`{}|^]/;

/** Whole stretches without spaces, so that a name and its value are seen together. */
function withoutPercent(text: string, inner: JudgeInner): string {
  const sign = new RegExp(PERCENT);
  const cuts: Cut[] = [];
  for (let found = sign.exec(text); found !== null; found = sign.exec(text)) {
    let from = found.index;
    const kept = cuts.at(-1)?.to ?? 0;
    while (from > kept && !ENDS_URL.test(text[from - 1] as string)) from--;
    let to = sign.lastIndex;
    while (to < text.length && !ENDS_URL.test(text[to] as string)) to++;
    sign.lastIndex = to;
    const stretch = text.slice(from, to);
    // What stands before the comma of a data URL is no part of its text.
    const prefix = /^[^%]{0,200}?data:[^,%]{0,200},/.exec(stretch)?.[0] ?? "";
    const plain = decodedPercent(stretch.slice(prefix.length));
    const clean = plain === stretch ? plain : inner(plain);
    const instead = clean === plain ? stretch : prefix + (clean === undefined ? REMOVED : percent(clean));
    cuts.push({ from, to, instead });
  }
  return withCuts(text, cuts);
}

function decodedPercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text.replace(PERCENT, (code) => String.fromCharCode(Number.parseInt(code.slice(1), 16)));
  }
}

function percent(text: string): string {
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are among what cannot stand in a URL
  return text.replace(/[%\s"'<>\\`{}|^\u0000-\u001f\u007f-\uffff]/g, (sign) => {
    return sign >= "\ud800" && sign <= "\udfff" ? "%EF%BF%BD" : encodeURIComponent(sign).replace("'", "%27");
  });
}

const HEX = /(?<![A-Za-z0-9])(?:[0-9a-f]{2}){14,}(?![A-Za-z0-9])|(?<![A-Za-z0-9])(?:[0-9A-F]{2}){14,}(?![A-Za-z0-9])/g;

/** Digests are hexadecimal, too, but no text. */
function withoutHex(text: string, inner: JudgeInner): string {
  return text.replace(HEX, (run) => {
    const form = asText(Buffer.from(run, "hex"), SHORTEST_ENCODED);
    return form === undefined || inner(form.text) === form.text ? run : REMOVED;
  });
}

/** Bytes that are text, and how they spell it. */
export interface TextForm {
  readonly text: string;
  readonly encoding: "utf8" | "utf16le" | "utf16be";
}

// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
const UNREADABLE = /[\u0000-\u0006\u000e-\u001a\u001c-\u001f\ufffd]/;

/** Undefined for what is no text. `least`: fewer bytes prove nothing. */
export function asText(bytes: Buffer, least = 0): TextForm | undefined {
  if (bytes.length < least) return undefined;
  const encoding = encodingOf(bytes);
  const text = encoding === "utf8" ? bytes.toString() : swapped(bytes, encoding).toString("utf16le");
  const bare = encoding === "utf8" ? text : text.replace(/^\ufeff/, "");
  return bare === "" || UNREADABLE.test(bare) ? undefined : { text: bare, encoding };
}

export function fromText({ text, encoding }: TextForm): Buffer {
  if (encoding === "utf8") return Buffer.from(text);
  return swapped(Buffer.from(`\ufeff${text}`, "utf16le"), encoding);
}

function swapped(bytes: Buffer, encoding: TextForm["encoding"]): Buffer {
  const even = Buffer.from(bytes.subarray(0, bytes.length - (bytes.length % 2)));
  return encoding === "utf16be" ? even.swap16() : even;
}

/** The encoding by its byte order mark, or by the zeros that plain text has in every other byte. */
function encodingOf(bytes: Buffer): TextForm["encoding"] {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return "utf16le";
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return "utf16be";
  if (bytes.length < 4 || !bytes.includes(0)) return "utf8";
  const zeros = [0, 0];
  const looked = Math.min(bytes.length, 1024);
  for (let index = 0; index < looked; index++) if (bytes[index] === 0) zeros[index % 2]!++;
  if (zeros[1]! > looked * 0.3 && zeros[0] === 0) return "utf16le";
  return zeros[0]! > looked * 0.3 && zeros[1] === 0 ? "utf16be" : "utf8";
}
