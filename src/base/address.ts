/** Destinations as callers write them: `host:port`, `[v6]:port`. */

/**
 * The host of a dial address, cut exactly as upstream's strategies cut it: fewer than two colons, the text before the
 * first; otherwise IPv6, with brackets the part before the last colon.
 */
export function hostOfAddress(address: string): string {
  const first = address.indexOf(":");
  const last = address.lastIndexOf(":");
  if (first === last) return first < 0 ? address : address.slice(0, first);
  const host = address.includes("[") ? address.slice(0, last) : address;
  return host.replace(/^[[\]]+/, "").replace(/[[\]]+$/, "");
}

export type SplitAddress = { readonly host: string; readonly port: string } | { readonly error: string };

/** Go's net.SplitHostPort, with its error texts, which callers see when they dial nonsense. */
export function splitHostPort(address: string): SplitAddress {
  const fail = (why: string): SplitAddress => ({ error: `address ${address}: ${why}` });
  const last = address.lastIndexOf(":");
  if (last < 0) return fail("missing port in address");
  let host: string;
  let restFrom = 0;
  let portSearchFrom = 0;
  if (address.startsWith("[")) {
    const close = address.indexOf("]");
    if (close < 0) return fail("missing ']' in address");
    if (close + 1 === address.length) return fail("missing port in address");
    if (close + 1 !== last)
      return fail(address[close + 1] === ":" ? "too many colons in address" : "missing port in address");
    host = address.slice(1, close);
    restFrom = 1;
    portSearchFrom = close + 1;
  } else {
    host = address.slice(0, last);
    if (host.includes(":")) return fail("too many colons in address");
  }
  if (address.indexOf("[", restFrom) >= 0) return fail("unexpected '[' in address");
  if (address.indexOf("]", portSearchFrom) >= 0) return fail("unexpected ']' in address");
  return { host, port: address.slice(last + 1) };
}

export function joinHostPort(host: string, port: number | string): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}
