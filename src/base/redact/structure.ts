/** Redaction of values whose structure is known: Kubernetes objects, kubeconfigs, Ignition configs, lists of arguments. */
import { isPasswordName, isSecretName } from "./names.js";
import { REMOVED } from "./removed.js";
import { isPlainValue } from "./values.js";

/** What a value stands in; each says something about the names and values below. */
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

/** Whether the text itself is a secret, by where it stands. */
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
export function withoutMembers(value: unknown, text: (text: string) => string): unknown {
  return walk(value, "", {}, text, 0);
}

function walk(value: unknown, name: string, context: Context, text: (text: string) => string, depth: number): unknown {
  if (typeof value !== "object" || value === null) return cleanScalar(value, name, context, text);
  if (depth > DEEPEST) return REMOVED;
  if (Array.isArray(value)) {
    let changed = false;
    const items = value.map((item, index) => {
      const inner = announcesSecret(value[index - 1]) ? { named: true } : context;
      const clean = walk(item, name, inner, text, depth + 1);
      changed ||= clean !== item;
      return clean;
    });
    return changed ? items : value;
  }
  const members = value as Readonly<Record<string, unknown>>;
  const beside = (other: string): unknown => members[other];
  let changed = false;
  const entries = Object.entries(members).map(([key, member]): [string, unknown] => {
    const inner = memberContext(key, beside, context);
    const clean = walk(member, isSecretName(key) ? key : name, inner, text, depth + 1);
    const cleanKey = key.length < 14 ? key : text(key);
    changed ||= clean !== member || cleanKey !== key;
    return [cleanKey, clean];
  });
  return changed ? Object.fromEntries(entries) : value;
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
