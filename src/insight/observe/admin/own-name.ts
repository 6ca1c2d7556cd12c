/** Whether a request was meant for us: browsers can be made to send requests here by pages of other sites. */
import type { IncomingMessage } from "node:http";
import { isIP } from "node:net";

/** Loopback names always are ours; otherwise the name bound, or the address the request really came to. */
export function isOurName(hostHeader: string | undefined, names: readonly (string | undefined)[]): boolean {
  const host = hostOf(hostHeader ?? "");
  if (host === "") return false;
  if (host === "localhost" || isLoopback(host)) return true;
  return names.some((name) => name !== undefined && hostOf(bracketed(name)) === host);
}

/** An address as sockets show it. */
export function isLoopback(address: string | undefined): boolean {
  const plain = (address ?? "").replace(/^::ffff:(?=\d+\.)/, "");
  return plain === "::1" || (isIP(plain) === 4 && plain.startsWith("127."));
}

/** The host of `host:port`, lower case and without brackets. */
export function hostOf(hostPort: string): string {
  const host = /^(?:\[([^\]]*)\]|([^:]*))(?::\d+)?$/.exec(hostPort.toLowerCase());
  const name = host?.[1] ?? host?.[2] ?? "";
  // A dual-stack socket shows IPv4 callers under this prefix.
  return name.replace(/^::ffff:(?=\d+\.)/, "");
}

function bracketed(name: string): string {
  return isIP(name) === 6 ? `[${name}]` : name;
}

/**
 * `own`: our own page asks · `foreign`: another one does (another port of this host is another one) · `unsaid`: no
 * browser, or one too old to say.
 */
export function askingSite({ headers }: IncomingMessage, scheme: "http" | "https"): "own" | "foreign" | "unsaid" {
  const { origin, host } = headers;
  const site = headers["sec-fetch-site"];
  if (origin !== undefined && origin.toLowerCase() !== `${scheme}://${host?.toLowerCase()}`) return "foreign";
  // `none`: somebody typed the address.
  if (site !== undefined && site !== "same-origin" && site !== "none") return "foreign";
  return origin !== undefined || site === "same-origin" ? "own" : "unsaid";
}
