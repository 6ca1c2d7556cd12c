/** Dial errors in Go's words: servers, tests and people match on these phrases. */

/** What a CONNECT caller gets for an agent's error text: the first phrase found decides. */
export function statusOfDialError(text: string): 502 | 503 | 504 {
  const lower = text.toLowerCase();
  if (lower.includes("timeout") || lower.includes("deadline exceeded")) return 504;
  if (lower.includes("too many open files") || lower.includes("too many dials")) return 503;
  return 502;
}

/**
 * Why an agent could not dial: `agent`, it ran out of descriptors or has too many dials pending; `way`, its network did
 * not answer or had no route there, which may be the agent's trouble or the target's, so that another agent should be
 * asked; `target`, which refused, so that there is a way to it; `request`, a name that does not exist or a destination
 * that is not allowed, which says nothing of any way.
 */
export function faultOf(text: string): "agent" | "way" | "target" | "request" {
  if (/too many open files|too many dials/i.test(text)) return "agent";
  if (/timeout|deadline exceeded|no route to host|network is unreachable/i.test(text)) return "way";
  return /connection (?:refused|reset)/i.test(text) ? "target" : "request";
}

/** The Go phrase for a system error; undefined for codes without one. */
export function goPhrase(code: string | undefined): string | undefined {
  return code === undefined ? undefined : PHRASES[code];
}

const PHRASES: Readonly<Record<string, string>> = {
  ECONNREFUSED: "connect: connection refused",
  ECONNRESET: "connect: connection reset by peer",
  EHOSTUNREACH: "connect: no route to host",
  ENETUNREACH: "connect: network is unreachable",
  EADDRNOTAVAIL: "connect: cannot assign requested address",
  EACCES: "connect: permission denied",
  EPERM: "connect: operation not permitted",
  EINVAL: "connect: invalid argument",
  ETIMEDOUT: "i/o timeout",
  EMFILE: "socket: too many open files",
  ENFILE: "socket: too many open files in system",
};
