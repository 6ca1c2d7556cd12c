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
const GO_FALSE = new Set(["0", "f", "F", "FALSE", "false", "False"]);

/** Throws an Error with Go's sentence when the query cannot be parsed; then the whole Connect fails. */
export function parseIdentifiers(query: string): Identifiers {
  const values = parseGoQuery(query);
  return {
    ipv4: values.getAll("ipv4"),
    ipv6: values.getAll("ipv6"),
    host: values.getAll("host"),
    cidr: values.getAll("cidr"),
    defaultRoute: GO_TRUE.has(values.get("default-route") ?? ""),
  };
}

/** Keys and values of a query, for an agent that checks its own flag. */
export function identifierPairs(query: string): [key: string, value: string][] {
  return [...parseGoQuery(query)];
}

export const isGoBoolean = (text: string): boolean => GO_TRUE.has(text) || GO_FALSE.has(text);

/** As Go's url.ParseQuery: `+` is a space, a bare `;` or a bad escape is an error, empty parts are skipped. */
function parseGoQuery(query: string): URLSearchParams {
  if (query.includes(";")) throw new Error("invalid semicolon separator in query");
  const bad = /%(?![0-9a-fA-F]{2})[^&=]{0,2}/.exec(query);
  if (bad !== null) throw new Error(`invalid URL escape ${JSON.stringify(bad[0])}`);
  // A question mark at the start would be taken for that of a URL.
  return new URLSearchParams(`&${query}`);
}
