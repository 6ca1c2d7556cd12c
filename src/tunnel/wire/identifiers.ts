/** What an agent says it can reach: Go's URL-query syntax, e.g. `ipv4=10.0.0.1&host=db&default-route=true`. */

export interface Identifiers {
  readonly ipv4: readonly string[];
  readonly ipv6: readonly string[];
  readonly host: readonly string[];
  readonly cidr: readonly string[];
  readonly defaultRoute: boolean;
}

export const NO_IDENTIFIERS: Identifiers = { ipv4: [], ipv6: [], host: [], cidr: [], defaultRoute: false };

/** Keys an agent may be started with; a server ignores others, since newer agents may know more. */
export const IDENTIFIER_KEYS = ["ipv4", "ipv6", "host", "cidr", "default-route"] as const;

/** The spellings Go's strconv.ParseBool takes for true. */
const GO_TRUE = new Set(["1", "t", "T", "TRUE", "true", "True"]);

/** Throws an Error with Go's sentence when the query cannot be parsed; then the whole Connect fails. */
export function parseIdentifiers(query: string): Identifiers {
  const values = parseGoQuery(query);
  return {
    ipv4: values.get("ipv4") ?? [],
    ipv6: values.get("ipv6") ?? [],
    host: values.get("host") ?? [],
    cidr: values.get("cidr") ?? [],
    defaultRoute: GO_TRUE.has(values.get("default-route")?.[0] ?? ""),
  };
}

/** The keys of a query, for an agent that checks its own flag. */
export function identifierKeys(query: string): string[] {
  return [...parseGoQuery(query).keys()];
}

/** Go's url.ParseQuery: `+` is a space, a bare `;` or a bad escape is an error, empty parts are skipped. */
function parseGoQuery(query: string): Map<string, string[]> {
  const values = new Map<string, string[]>();
  for (const part of query.split("&")) {
    if (part.includes(";")) throw new Error("invalid semicolon separator in query");
    if (part === "") continue;
    const equals = part.indexOf("=");
    const key = unescapeGo(equals < 0 ? part : part.slice(0, equals));
    const value = equals < 0 ? "" : unescapeGo(part.slice(equals + 1));
    const list = values.get(key);
    if (list === undefined) values.set(key, [value]);
    else list.push(value);
  }
  return values;
}

function unescapeGo(text: string): string {
  const bad = /%(?![0-9a-fA-F]{2}).{0,2}/s.exec(text);
  if (bad !== null) throw new Error(`invalid URL escape ${JSON.stringify(bad[0])}`);
  return text
    .replaceAll("+", " ")
    .replace(/(?:%[0-9a-fA-F]{2})+/g, (escapes) => Buffer.from(escapes.replaceAll("%", ""), "hex").toString());
}
