/** Redaction of values whose structure is known: Kubernetes objects, kubeconfigs, Ignition configs, lists of arguments. */
import { isPasswordName, isPlainValue, isSecretName, REMOVED } from "./names.js";

/** What surrounds a value; each says something about the names and values below. */
export interface Context {
  /** Everything below is secret: a Secret's data, the key of an encrypted disk. */
  readonly all?: boolean;
  /** The value belongs to a secret name further up: `{"password": {"value": ...}}`. */
  readonly named?: boolean;
  /** The items of a list of Secrets do not say what they are. */
  readonly ofSecrets?: boolean;
}

/** Nothing that people or programs write nests deeper. */
const DEEPEST = 200;
const VALUE_NAMES = new Set(["value", "values", "data", "content", "contents", "text", "plain", "plaintext", "source"]);

/** The context of a member, by its name and by the other members beside it. */
export function memberContext(name: string, beside: (name: string) => unknown, context: Context): Context {
  if (context.all) return context;
  const isSecret = context.ofSecrets === true || beside("kind") === "Secret";
  if ((name === "data" || name === "stringData") && isSecret) return { all: true };
  if (name === "items" && beside("kind") === "SecretList") return { ofSecrets: true };
  if (name === "keyFile") return { all: true };
  if (name === "value" && isSecretPair(beside)) return { all: true };
  if (isSecretName(name)) return { named: true };
  return context.named === true && VALUE_NAMES.has(name) ? { named: true } : {};
}

/** `{name: DB_PASSWORD, value: ...}`, as environments and headers have it. */
function isSecretPair(beside: (name: string) => unknown): boolean {
  return ["name", "key", "Name", "Key"].some((name) => {
    const value = beside(name);
    return typeof value === "string" && isSecretName(value);
  });
}

/** Whether the text itself is a secret, by its context. */
function isSecretValue(text: string, name: string, context: Context): boolean {
  if (context.all) return text !== "" && text !== REMOVED;
  return context.named === true && !isPlainValue(text, isPasswordName(name));
}

/** A text or a number in its place. */
export function cleanScalar(value: unknown, name: string, context: Context, text: (text: string) => string): unknown {
  if (typeof value !== "string" && typeof value !== "number" && typeof value !== "bigint") return value;
  if (isSecretValue(String(value), name, context)) return REMOVED;
  return typeof value === "string" ? text(value) : value;
}

/** Whether the word after this one is a secret: `["--password", "x"]`. */
export function announcesSecret(word: unknown): boolean {
  return typeof word === "string" && /^--?[\w.-]+$/.test(word) && isSecretName(word);
}

/** The same value without its secrets; the very same object when there are none. */
function withoutMembers(whole: unknown, text: (text: string) => string): unknown {
  let changed = false;
  const walk = (value: unknown, name: string, context: Context, depth: number): unknown => {
    if (typeof value !== "object" || value === null || depth > DEEPEST) {
      const clean = typeof value === "object" && value !== null ? REMOVED : cleanScalar(value, name, context, text);
      changed ||= clean !== value;
      return clean;
    }
    if (Array.isArray(value)) {
      return value.map((item, index) =>
        walk(item, name, announcesSecret(value[index - 1]) ? { named: true } : context, depth + 1),
      );
    }
    const members = value as Readonly<Record<string, unknown>>;
    const entries = Object.entries(members).map(([key, member]) => {
      const cleanKey = key.length < 14 ? key : text(key);
      changed ||= cleanKey !== key;
      const inner = memberContext(key, (other) => members[other], context);
      return [cleanKey, walk(member, isSecretName(key) ? key : name, inner, depth + 1)];
    });
    return Object.fromEntries(entries);
  };
  const clean = walk(whole, "", {}, 0);
  return changed ? clean : whole;
}

/** JSON as it was indented, without its secrets; undefined when it is no JSON. */
export function withoutJsonSecrets(json: string, text: (text: string) => string): string | undefined {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    return undefined;
  }
  if (typeof value !== "object" || value === null) return undefined;
  const clean = withoutMembers(value, text);
  if (clean === value) return json;
  const indent = /^\s*[{[]\r?\n([ \t]+)\S/.exec(json)?.[1] ?? "";
  const end = /\s*$/.exec(json)?.[0] ?? "";
  return JSON.stringify(clean, null, indent) + end;
}

const SECRET_REMOVED = "[a Secret removed]";
const SECRET_IN_LINE =
  /\\{0,8}"kind\\{0,8}"[ \t]{0,9}:[ \t]{0,9}\\{0,8}"Secret(?:List)?\\{0,8}"|\bkind:[ \t]?Secret(?:List)?\b.{0,2000}\bdata:/;
const SECRET_LINE = /^[^{}]{0,200}?(?:^|[\s-])"?kind"?:[ \t]{0,9}"?Secret(?:List)?"?[ \t]{0,9},?[ \t\r]{0,9}$/;
/** Lines of YAML and JSON, with what a log may put before them. */
const OBJECT_LINE = /^(?:\S{1,64}[ \t]+){0,6}[ \t]*(?:- +)?["\w./-]{1,253}:(?:[ \t]|$)|^[ \t]*[-{}[\]"]|^[ \t]+\S/;
/** No Secret is larger than a mebibyte; of these lines most are short. */
const MOST_LINES = 4000;

/** Redacts objects in the midst of other text, as logs have them: JSON in a line, and Secrets over several lines. */
export function withoutObjects(text: string, inner: (text: string) => string): string {
  if (!text.includes('{"') && !text.includes("Secret")) return text;
  const lines = text.split("\n");
  const out: string[] = [];
  let changed = false;
  for (let index = 0; index < lines.length; index++) {
    const line = lines[index] as string;
    if (line.includes("Secret") && SECRET_LINE.test(line)) {
      changed = true;
      while (out.length > 0 && isObjectLine(out.at(-1) as string)) out.pop();
      let end = index;
      while (end + 1 < lines.length && end - index < MOST_LINES && isObjectLine(lines[end + 1] as string)) end++;
      index = end;
      out.push(SECRET_REMOVED);
      continue;
    }
    const clean = cleanLine(line, inner);
    changed ||= clean !== line;
    out.push(clean);
  }
  return changed ? out.join("\n") : text;
}

function isObjectLine(line: string): boolean {
  return line.length < 4096 * 64 && OBJECT_LINE.test(line) && !/^---|^\[a Secret/.test(line);
}

function cleanLine(line: string, inner: (text: string) => string): string {
  const start = line.indexOf('{"');
  const end = line.lastIndexOf("}") + 1;
  const clean = start === -1 || end <= start ? undefined : withoutJsonSecrets(line.slice(start, end), inner);
  if (clean !== undefined) return line.slice(0, start) + clean + line.slice(end);
  if (!line.includes("Secret") || !SECRET_IN_LINE.test(line) || !/\bdata\b|stringData/.test(line)) return line;
  return `${start === -1 ? "" : line.slice(0, start)}${SECRET_REMOVED}`;
}
