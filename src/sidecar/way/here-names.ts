/** Names by the resolver of the host that we run on. */
import { lookup as systemLookup } from "node:dns/promises";
import type { Ask } from "./answer-cache.js";

export async function lookupHere(name: string): Promise<readonly string[]> {
  const found = await systemLookup(name, { all: true, verbatim: true });
  return found.map(({ address }) => address);
}

export function askHere(lookup: (name: string) => Promise<readonly string[]>): Ask {
  return async (name) => {
    try {
      return { addresses: await lookup(name), ttlMs: undefined };
    } catch (reason) {
      const { code } = reason as NodeJS.ErrnoException;
      if (code === "ENOTFOUND" || code === "ENODATA") return { addresses: [], ttlMs: undefined };
      throw reason;
    }
  };
}
