import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { ECHO_HOST } from "../wire/echo.js";

/** Every address of a host, in the system's order of preference; an address is its own. Rejects in Go's words. */
export async function resolveHost(host: string): Promise<string[]> {
  // Go dials the local host when none is given.
  if (host === "") return ["127.0.0.1"];
  if (isIP(host) !== 0) return [host];
  // Only a server that agreed on it has an echo to dial (echo.ts); nobody's resolver is asked about it.
  if (host === ECHO_HOST) throw new Error(`lookup ${host}: no such host`);
  try {
    const found = await lookup(host, { all: true, verbatim: true });
    return found.map(({ address }) => address);
  } catch (cause) {
    throw new Error(`lookup ${host}: ${phrase((cause as NodeJS.ErrnoException).code)}`, { cause });
  }
}

function phrase(code: string | undefined): string {
  switch (code) {
    case "ENOTFOUND":
    case "ENODATA":
      return "no such host";
    case "EAI_AGAIN":
    case "ETIMEOUT":
      return "i/o timeout";
    default:
      return `server misbehaving (${code ?? "unknown error"})`;
  }
}
