/** Checks a Kubernetes label selector (`app=x,tier in (a,b),!old,weight>3`); the API server does the matching. */
import type { Flag } from "./flag.js";
import { quote } from "./go-values.js";

const NAME = /^[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9](?:[-a-z0-9]*[a-z0-9])?(?:\.[a-z0-9](?:[-a-z0-9]*[a-z0-9])?)*$/;
const END = "";

/** Throws an Error that says what was found and what was expected. Empty selects everything. */
export function checkLabelSelector(selector: string): void {
  const tokens = [...(selector.match(/==|!=|[=!<>(),]|[^ \t\r\n=!<>(),]+/g) ?? []), END];
  let at = 0;
  const next = (): string => tokens[at++] ?? END;
  if (tokens[0] === END) return;
  for (;;) {
    checkRequirement(next, () => tokens[at] ?? END);
    const separator = next();
    if (separator === END) return;
    if (separator !== ",") throw found(separator, "',' or 'end of string'");
    if (!isWord(tokens[at] ?? END) && tokens[at] !== "!") throw found(tokens[at] ?? END, "identifier after ','");
  }
}

function checkRequirement(next: () => string, peek: () => string): void {
  const first = next();
  const negated = first === "!";
  checkKey(negated ? next() : first);
  if (negated || peek() === END || peek() === ",") return;
  const operator = next();
  if (operator === "in" || operator === "notin") {
    checkSet(next, peek);
    return;
  }
  if (!["=", "==", "!=", ">", "<"].includes(operator)) throw found(operator, "in, notin, =, ==, !=, gt, lt");
  const value = peek() === END || peek() === "," ? "" : next();
  checkValue(value);
  if ((operator === ">" || operator === "<") && !/^[+-]?\d{1,18}$/.test(value)) {
    throw new Error(`the value ${quote(value)} after '${operator}' must be an integer`);
  }
}

function checkSet(next: () => string, peek: () => string): void {
  const open = next();
  if (open !== "(") throw found(open, "'('");
  for (;;) {
    if (isWord(peek())) checkValue(next());
    const separator = next();
    if (separator === ")") return;
    if (separator !== ",") throw found(separator, "',' or ')'");
  }
}

function checkKey(key: string): void {
  if (!isWord(key)) throw found(key, "identifier");
  const slash = key.indexOf("/");
  const prefix = key.slice(0, Math.max(slash, 0));
  const label = key.slice(slash + 1);
  const prefixFits = slash < 0 || (prefix.length <= 253 && SUBDOMAIN.test(prefix));
  if (!prefixFits || label.length > 63 || !NAME.test(label)) throw new Error(`${quote(key)} is not a label key`);
}

function checkValue(value: string): void {
  if (value !== "" && (value.length > 63 || !NAME.test(value))) throw new Error(`${quote(value)} is not a label value`);
}

function isWord(token: string): boolean {
  return token !== END && !/^[=!<>(),]/.test(token);
}

function found(token: string, expected: string): Error {
  return new Error(`unable to parse requirement: found '${token}', expected: ${expected}`);
}

/** Which leases count. */
export const labelSelector: Flag<string> = {
  kind: {
    typeName: "selector",
    read: (given) => {
      checkLabelSelector(given);
      return given;
    },
    showDefault: (value) => value,
  },
  value: "k8s-app=konnectivity-server",
  usage: "Which leases count, as a label selector. If empty, all.",
};
